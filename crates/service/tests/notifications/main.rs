//! Notifications: streams, the event log, subscriptions.

mod access;
mod commits;
mod established;
mod filters;
mod fixture;
mod kill;
mod push;
mod push_cost;
mod push_fixture;
mod push_model;
mod push_operational;
mod replay;
mod retention;
mod sending;
mod server_events;
mod slow_receiver;
mod speed;
