//! JSON (RFC 7951), with metadata (RFC 7952), as streams.

mod escape;
mod metadata;
mod print;
mod read;
mod token;

pub use escape::{write_string, write_value};
pub use print::Printer;
pub(super) use read::parse_nodes;
pub use read::{ANY_LENGTH_MAX, parse};
pub use token::{DEPTH_MAX, TOKEN_LENGTH_MAX};
