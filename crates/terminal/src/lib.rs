//! Terminal input and output of commands: [`Failure`], the one error type of commands, with its hint; output with
//! escaped control characters; progress bars; files that appear when they are complete; documents in JSON and XML by
//! file extension.
//!
//! A separate crate, because the command line and the bench both need it, and neither depends on the parts of the
//! other.

pub mod document;
mod failure;
pub mod output;
pub mod output_file;
mod password;
pub mod path;
pub mod progress;
pub mod single_node;
mod url_name;

pub use failure::{Failure, FailureKind, Result, VERSIONS_HINT};
pub use password::{PASSWORD_BYTES_MAX, read_password};
pub use url_name::url_name;
