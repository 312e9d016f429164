//! Reads and changes one datastore of one anchor.
//!
//! A commit applies its edits to an [overlay](crate::overlay) over a snapshot and validates the result. The
//! differences become one batch (fragments, order index, stamps, log), which is committed on condition that
//! the datastore has not changed meanwhile. The steps are in `commit_pipeline.rs`.

mod authorise;
mod candidate;
mod change;
mod changes;
mod commit_edits;
mod commit_options;
mod commit_pipeline;
mod confirm;
mod copy;
mod datastore;
mod edit;
mod edit_config;
mod event_log;
mod existence;
mod filter;
mod filter_changes;
mod history;
mod key_nodes;
mod load;
mod locate;
mod lock;
mod log;
mod open;
mod open_view;
mod operational;
mod pages;
mod prefetch;
mod print;
mod proposal;
mod query;
mod read;
mod read_filtered;
mod readable_instances;
mod selection;
mod stamp;
mod subscribe;
mod too_big;
#[allow(
    clippy::module_inception,
    reason = "the folder is named by its main type"
)]
mod tree;
mod upgrade;
mod validate;
mod view;

pub use candidate::{Conflict, ConflictContent, Resolution};
pub use changes::{
    ChangeKind, Content as ChangedContent, DIFF_CHANGES_MAX, Diff, NodeChange, Point, TreeChange,
    each_tree_change, write_change_json, write_change_text,
};
pub use commit_options::{Commit, CommitOptions, Guard};
pub use commit_pipeline::BegunCommit;
pub use confirm::{CONFIRM_SECONDS_DEFAULT, ConfirmOptions};
pub use datastore::Datastore;
pub use edit::{Edit, Insert};
pub use edit_config::{EditReport, ErrorOption, TestOption};
pub use event_log::{
    EVENT_AGE_MAX, EVENT_BYTES_MAX, EVENT_LOG_BYTES_MAX, EVENT_PAGE_BYTES_MAX,
    EVENT_PAGE_RECORDS_MAX, EVENT_RECORDS_MAX, EVENT_SETTINGS_FORMAT, EventLogState, EventPage,
    EventRecord, EventSettings, NewEvent,
};
pub use filter::{FILTER_PLAN_NODES_MAX, Filter, FilterExpression};
pub use filter_changes::{
    ChangedScopes, FILTERED_DIFFERENCE_NODES_MAX, FILTERED_SCOPES_MAX, FilterRoutes,
    FilteredChange, FilteredDifference, FilteredEdit, ReaderAccess, TrackedFilter,
};
pub use history::{
    CommitInfo, HISTORY_CHANGES_EXAMINED_MAX, HISTORY_PAGE_MAX, RETENTION_VERSIONS_DEFAULT,
    Retention,
};
pub use load::{LoadMode, LoadOptions, LoadReport};
pub use lock::{Lock, Locks, PartialLock, PendingCommit, TimeoutStart};
pub use operational::{
    PROVIDER_CACHE_MAX, PROVIDER_CALLS_MAX, PROVIDER_TIMEOUT, PROVIDERS_PER_READ_MAX, Provider,
    ProviderError, ProviderRequest, Registration, UNAPPLIED_PATHS_MAX, Warning, WarningReason,
};
pub use pages::{
    PAGE_ENTRIES_EXAMINED_MAX, PAGE_KEYS_BYTES_MAX, PAGE_SORT_BYTES_MAX, PAGE_SORT_VALUE_BYTES_MAX,
    PAGE_XPATH_STEPS_MAX, PageDirection, PageInfo, PageNames, PageParameters, PageRequest,
    Remaining,
};
pub use query::Selected;
pub use selection::{Content, OriginFilter, Selection, WithDefaults, WithOrigin};
pub use stamp::Stamp;
pub use subscribe::{
    Committed, Event, Events, Lagged, QUEUE_CHANGES_MAX, QUEUE_EVENTS_MAX, Subscriber,
    Subscription, SubscriptionGuard,
};
pub use tree::{SESSION_BYTES_MAX, Tree};
pub use upgrade::{
    ChangedPlace, DatastoreUpgrade, LeafFill, PLACES_MAX, Places, Removed, Repair, RepairOutput,
    UNKNOWN_NODE, UnknownData, UpgradeLoad, UpgradeOptions, UpgradeReport,
};
pub use view::View;

pub(crate) use candidate::CandidateCache;
pub(crate) use locate::{TreeState, in_subspace, is_order_index, order_key};
pub(crate) use operational::{OriginRecord, Providers};
pub(crate) use print::print_stored;
pub(crate) use read::skip_entry;
pub(crate) use stamp::{StampRecord, stamp_key};
pub(crate) use subscribe::Registry;
pub(crate) use tree::check_session;
pub(crate) use upgrade::{AnchorUpgrade, Fills, NodeMapping, past_schema_records};
pub(crate) use validate::verify_indexes;
