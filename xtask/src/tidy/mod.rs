//! The rules of DESIGN.md and STYLE.md that a program can check.
//!
//! One rule, one file. Every rule reports a file, a line and what to do; none changes anything.

mod banned;
mod check;
mod circles;
mod decisions;
mod edges;
mod layout;
mod length;
mod report;
mod source;

pub use check::check;
