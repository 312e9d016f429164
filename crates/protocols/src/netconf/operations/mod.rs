//! The operations.
//!
//! | file | content |
//! |---|---|
//! | `request.rs` | from a message to its reply |
//! | `parameters.rs` | the parameters of operations |
//! | `read.rs` | `get`, `get-config`, `get-data` |
//! | `edit.rs` | `edit-config`, `edit-data`, `copy-config` and `validate` with data |
//! | `subscribe.rs` | `create-subscription`, and the begin of other subscriptions |
//! | `invoke.rs` | all other operations and actions, by their models |

mod edit;
mod invoke;
mod output;
mod parameters;
mod read;
mod request;
mod subscribe;

pub(super) use request::{Next, Request, Subscribed};
