//! Patterns, XPath and paths against reference implementations, on random input.

mod models;
mod pattern;
mod seed;
mod xpath;
