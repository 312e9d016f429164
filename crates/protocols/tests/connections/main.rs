//! The connections of a server: raw sockets, on routes of every front end.

mod flood;
mod guards;
mod heads;
mod refused_bodies;
#[path = "../served/mod.rs"]
mod served;
mod spilled;
mod stalled;
mod support;
mod unread_responses;
