//! Statistics over a real socket: a server on loopback, the memory engine, a real client.

mod operations;
mod refusals;
#[path = "../served/mod.rs"]
mod served;
