//! The audit log on every engine that needs no server.

mod behaviour;
mod concurrency;
mod failures;
mod fixture;
mod hostile_text;
mod kill;
mod model;
mod outputs;
mod retention;
mod speed;
