//! What the programs of this workspace share with the person in front of them: [`Failure`], the one error of
//! commands with its hint; output whose control characters are escaped; progress bars; files that appear when
//! they are complete; documents in JSON and XML by the name of their file.
//!
//! It is a crate of its own because the command line and the bench both need it, and neither depends on the other's
//! parts.

pub mod document;
mod failure;
pub mod output;
pub mod output_file;
pub mod path;
pub mod progress;
pub mod single_node;
mod url_name;

pub use failure::{Failure, Kind, Result, VERSIONS_HINT};
pub use url_name::url_name;
