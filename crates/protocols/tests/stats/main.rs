//! Statistics over a real socket: a server on loopback, the memory engine, a real client.

mod operations;
#[path = "../served/mod.rs"]
mod served;
