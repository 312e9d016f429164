//! The elements of standard operations, for [`super::Session::request`].
//!
//! | file | content |
//! |---|---|
//! | `read.rs` | `get`, `get-config`, `get-data`, `get-schema`, with [`Filter`] |
//! | `change.rs` | `edit-config`, `edit-data`, `copy-config`, `delete-config`, `validate` |
//! | `control.rs` | locks, `commit` and what belongs to it, `update`, `kill-session` |
//! | `subscribe.rs` | `create-subscription`, `establish-subscription` |
//! | `xml.rs` | elements as text |
//!
//! All texts that are not elements are escaped here.

mod change;
mod control;
mod read;
mod subscribe;
mod xml;

pub use change::{
    EditOptions, Payload, Place, copy_config, delete_config, edit_config, edit_data, validate,
};
pub use control::{
    CommitOptions, PRIVATE_CANDIDATE, cancel_commit, commit, discard_changes, kill_session, lock,
    unlock, update,
};
pub use read::{DataOptions, Filter, ReadOptions, get, get_config, get_data, get_schema};
pub use subscribe::{
    PushOptions, PushTrigger, SubscribeOptions, create_subscription, establish_push,
    establish_subscription,
};
pub use xml::{DocumentError, elements_of, indented};
