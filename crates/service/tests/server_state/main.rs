//! The state of the server as data.

mod access;
mod filtered;
mod fixture;
mod library;
mod monitoring;
