//! A datastore as one session sees it.
//!
//! Every call goes the same way: the rules of the user are looked up, the store is called with them, the session
//! counts the request, the audit log gets a record. Front ends have this handle in place of [`espalier_store::Tree`].
//!
//! | file | content |
//! |---|---|
//! | `session_datastore.rs` | the handle, and what all operations share |
//! | `call.rs` | what a call does, for the audit log |
//! | `read.rs` | views |
//! | `filtered.rs` | filtered reads, with the state of the server |
//! | `write.rs` | edits, loads, copies |
//! | `candidate.rs` | commit, confirm, cancel, discard, update, validate |
//! | `lock.rs` | locks, and the end of a session |
//! | `history.rs` | earlier versions |
//! | `modules.rs` | changes of modules |
//! | `notify.rs` | notifications: sending, streams, subscriptions |
//! | `subscriptions.rs` | dynamic subscriptions |
//! | `configured.rs` | configured subscriptions |
//! | `push_target.rs` | new targets of subscriptions to datastores |
//! | `push_source.rs` | the data of subscriptions to datastores |
//! | `state.rs` | the state of the server |

mod call;
mod candidate;
mod configured;
mod filtered;
mod history;
mod lock;
mod modules;
mod notify;
mod push_source;
mod push_target;
mod read;
mod session_datastore;
mod state;
mod subscriptions;
mod write;

pub(crate) use call::{Call, READ};
pub use configured::ConfiguredFeed;
pub use filtered::{FilteredPart, RequestFilter, XPathFilter};
pub use modules::ModuleUpgrade;
pub(crate) use push_target::NewPushTarget;
pub use session_datastore::{ChangeNote, SessionDatastore};
pub use write::BegunChange;
