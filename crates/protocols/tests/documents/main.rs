//! Document collections over a real socket: a server on loopback, the memory engine, a real client.

mod feed;
mod operations;
mod pages;
mod refusals;
#[path = "../served/mod.rs"]
mod served;
mod support;
