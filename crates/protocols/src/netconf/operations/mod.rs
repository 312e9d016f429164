//! The operations.
//!
//! | file | content |
//! |---|---|
//! | `request.rs` | from a message to its reply |
//! | `parameters.rs` | the parameters of operations |
//! | `read.rs` | `get`, `get-config`, `get-data` |
//! | `edit.rs` | `edit-config`, `edit-data`, `copy-config` and `validate` with data |
//! | `invoke.rs` | all other operations and actions, by their models |

mod edit;
mod invoke;
mod output;
mod parameters;
mod read;
mod request;

pub(super) use request::{Next, Request};
