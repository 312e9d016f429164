//! All anchors of a store, over one server.

mod access;
mod many;
mod paths;
mod replaced;
mod support;
mod upgrade;
