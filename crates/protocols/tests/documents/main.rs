//! Document collections over a real socket: a server on loopback, the memory engine, a real client.

#[path = "../served/event_client.rs"]
mod event_client;
mod feed;
mod operations;
mod pages;
mod refusals;
#[path = "../served/mod.rs"]
mod served;
mod support;
