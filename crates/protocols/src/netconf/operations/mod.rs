//! The operations.
//!
//! | file | content |
//! |---|---|
//! | `request.rs` | from a message to its reply |
//! | `parameters.rs` | the parameters of operations |
//! | `filter.rs` | the filters of requests |
//! | `read.rs` | `get`, `get-config`, `get-data` |
//! | `configuration.rs` | the configurations in requests: `config`, `url` |
//! | `edit.rs` | `edit-config`, `edit-data`, `delete-config`, `validate` |
//! | `copy.rs` | `copy-config` |
//! | `large.rs` | requests that are too large for memory |
//! | `subscribe.rs` | `create-subscription`, and the begin of other subscriptions |
//! | `partial_lock.rs` | `partial-lock`, `partial-unlock` |
//! | `invoke.rs` | all other operations and actions, by their models |

mod configuration;
mod copy;
mod edit;
mod filter;
mod invoke;
mod large;
mod output;
mod pages;
mod parameters;
mod partial_lock;
mod read;
mod request;
mod subscribe;

pub(super) use request::{Message, Next, Request, Subscribed};
