//! The rules of architecture and style that a program can check.
//!
//! One rule per file. Each rule reports a file, a line and what to do; none changes anything.

mod banned;
mod check;
mod circles;
mod decisions;
mod edges;
mod front_ends;
mod layout;
mod length;
mod report;
mod source;

pub use check::check;
