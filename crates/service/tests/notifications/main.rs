//! Notifications: streams, the event log, subscriptions.

mod access;
mod commits;
mod established;
mod filters;
mod fixture;
mod kill;
mod replay;
mod retention;
mod sending;
mod server_events;
mod slow_receiver;
mod speed;
