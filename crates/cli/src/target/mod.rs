//! What commands work on: a store that this process opens, or a server.
//!
//! Commands see [`Target`] only, so each works the same on both.

mod act;
mod contract;
mod engine;
mod local;
mod open;
mod past;
mod remote;
mod remote_act;
mod remote_error;
mod remote_past;
mod tls;
mod unreachable;
mod upgrade;

pub use act::{Act, Acting, Of, Outcome, Prefer, beside, perform};
pub use contract::{Change, Changed, EditHow, Loaded, Read, Target, TestChoice, Upload};
pub use engine::{
    Opening, is_same_place, open_engine, open_for_command, open_source, open_target, promise,
    require_existing,
};
pub use local::{
    annotated_tree, open_driver, open_store, open_store_for_command, open_tree, source_of,
    store_on, tree_of,
};
pub use open::{open, open_existing};
pub use past::{Differences, LineStyle, Rollback, diff_lines, print_view};
pub use remote::{EDIT_PATH, Remote, SCHEMA_PATH, SOURCE_BYTES_MAX};
pub use remote_act::DATASTORES_PATH;
pub use remote_past::{
    AT_PATH, CommitBody, DIFF_PATH, HISTORY_PATH, RETENTION_PATH, ROLLBACK_PATH, RetentionBody,
};
pub use upgrade::{bring_to, load_with_modules, upgrade_json, upgrade_text};
