//! The data that commands work on: in a store that this process opens, or on a server.
//!
//! Commands use [`Endpoint`] only, so each works the same on both.

mod applied_modules;
mod connection_failure;
mod credentials;
mod engine;
mod interface;
mod invocation;
mod local;
mod open;
mod operations;
mod remote;
mod remote_audit;
mod remote_error;
mod remote_notifications;
mod remote_operations;
mod remote_providers;
mod remote_versions;
mod tls;
mod unix_socket;
mod upgrade;
mod versions;

pub use engine::{
    OpenMode, effective_durability, is_same_store, open_engine, open_for_command, open_source,
    open_target, require_existing,
};
pub use interface::{Change, Changed, EditParameters, Endpoint, Loaded, Read, TestChoice, Upload};
pub use invocation::{Invocation, resolve_operation};
pub use local::{
    Local, annotated_tree, command_session, open_driver, open_store, open_store_for_command,
    open_tree, store_on, tree_of,
};
pub use open::{open, open_existing};
pub use operations::{
    ConflictPreference, DatastoreOperation, LockOwner, OperationRequest, Outcome, named_datastore,
    perform,
};
pub use remote::{EDIT_PATH, Remote, SCHEMA_PATH, SOURCE_BYTES_MAX};
pub use remote_notifications::{
    EVENT_SETTINGS_PATH, Message, NOTIFY_PATH, NotifyBody, SentBody, event_stream_path,
};
pub use remote_operations::DATASTORES_PATH;
pub use remote_providers::{MESSAGES_PATH, PROVIDERS_PATH};
pub use remote_versions::{
    AT_PATH, CommitBody, DIFF_PATH, HISTORY_PATH, RETENTION_PATH, ROLLBACK_PATH, RetentionBody,
};
pub use tls::client_tls;
pub use upgrade::{apply_modules, load_with_modules, upgrade_text};
pub use versions::{Differences, LineStyle, Rollback, diff_lines, print_view};
