//! RESTCONF over a real socket: a server on loopback, the memory engine, a real client.

mod conditions;
mod datastores;
#[path = "../served/event_client.rs"]
mod event_client;
mod event_streams;
mod hostile;
mod http2;
mod many_clients;
mod mount;
mod operational;
mod operations;
mod pages;
mod push;
mod queries;
mod reads;
mod rejected_documents;
mod semantics;
mod server_state;
mod slow_subscribers;
mod streaming;
mod subscriptions;
mod support;
mod system;
mod throughput;
mod tls;
mod types;
mod writes;
mod yang_patch;
