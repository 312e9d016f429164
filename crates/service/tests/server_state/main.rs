//! The state of the server as data.

mod access;
mod fixture;
mod library;
mod monitoring;
