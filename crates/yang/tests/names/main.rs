//! Patterns, XPath and paths compared with reference implementations, on random input.

mod fields;
mod models;
mod path;
mod pattern;
mod tree_model;
mod xpath;
