//! YANG data trees stored in a key space, with atomic commits. This is the only crate that depends on both
//! YANG and the key space.
//!
//! A [`Store`] is a key space with a catalog: *dataspaces* hold *schema sets* (named sets of YANG
//! modules) and *anchors* (named data trees, each bound to a schema set). A [`Tree`] is one
//! datastore of one anchor; a [`View`] is a consistent snapshot of it; a commit changes it.
//!
//! The key decision: one key for each container or list entry (a *fragment*, holding its leaves),
//! placed so that a subtree is one contiguous range. One key per leaf would make one-leaf writes a
//! little cheaper and everything else three times larger; one key per document would make every
//! write as expensive as the document.

mod access;
mod catalog;
mod check;
mod clock;
mod commit_groups;
mod commit_run;
mod compiled_schema_set;
mod error;
mod fragment;
mod keys;
mod node_dictionary;
mod node_numbers;
mod open;
mod overlay;
mod position;
mod readable;
mod reported;
mod store;
mod stored_schema;
mod subspace;
mod transfer;
mod tree;

pub use access::{
    AccessDefaults, AccessOperation, AccessRules, AccessTable, DataRule, DenyMark, InstancePattern,
    OperationSet, PatternStep, RuleEffect,
};
pub use catalog::{AnchorInfo, SchemaSetInfo, Validation};
pub use clock::{BOOT_BYTES, CLOCK_STEP_MAX, Clock, SystemClock, Timestamp, Uptime};
pub use commit_run::CommitRun;
pub use error::{Error, Result, anchor_list};
pub use espalier_keyspace::{
    Error as EngineError, ErrorKind as EngineErrorKind, Prefetch, PrefetchList,
};
pub use reported::{Cause, INTERNAL, NO_SUCH_VERSION, Reported};
pub use store::{CatalogState, Store};
pub use subspace::Subspace;
pub use transfer::{
    BLOCK_BYTES_MAX, BackupReport, CheckedBackup, Digest, ExistingRows, Marker, Phase, Progress,
    TransferReport, backup, check_source, copy, restore,
};
pub use tree::{
    BegunCommit, CONFIRM_SECONDS_DEFAULT, ChangeKind, ChangedContent, ChangedPlace, Commit,
    CommitInfo, CommitOptions, Committed, ConfirmOptions, Conflict, ConflictContent, Content,
    DIFF_CHANGES_MAX, Datastore, DatastoreUpgrade, Diff, Edit, EditReport, ErrorOption, Event,
    Events, Guard, HISTORY_CHANGES_EXAMINED_MAX, HISTORY_PAGE_MAX, Insert, Lagged, LeafFill,
    LoadMode, LoadOptions, LoadReport, Lock, Locks, NodeChange, PLACES_MAX, PartialLock,
    PendingCommit, Places, Point, QUEUE_CHANGES_MAX, QUEUE_EVENTS_MAX, RETENTION_VERSIONS_DEFAULT,
    Removed, Repair, RepairOutput, Resolution, Retention, SESSION_BYTES_MAX, Selected, Selection,
    Stamp, Subscriber, Subscription, SubscriptionGuard, TestOption, TimeoutStart, Tree, TreeChange,
    UNKNOWN_NODE, UnknownData, UpgradeLoad, UpgradeOptions, UpgradeReport, View, WithDefaults,
    each_tree_change, write_change_json, write_change_text,
};
pub use tree::{
    ChangedScopes, FILTERED_DIFFERENCE_NODES_MAX, FILTERED_SCOPES_MAX, FilterRoutes,
    FilteredChange, FilteredDifference, FilteredEdit, ReaderAccess, TrackedFilter,
};
pub use tree::{
    EVENT_AGE_MAX, EVENT_BYTES_MAX, EVENT_LOG_BYTES_MAX, EVENT_PAGE_BYTES_MAX,
    EVENT_PAGE_RECORDS_MAX, EVENT_RECORDS_MAX, EVENT_SETTINGS_FORMAT, EventLogState, EventPage,
    EventRecord, EventSettings, NewEvent,
};
pub use tree::{FILTER_PLAN_NODES_MAX, Filter, FilterExpression, OriginFilter};
pub use tree::{
    PAGE_ENTRIES_EXAMINED_MAX, PAGE_KEYS_BYTES_MAX, PAGE_SORT_BYTES_MAX, PAGE_SORT_VALUE_BYTES_MAX,
    PAGE_XPATH_STEPS_MAX, PageDirection, PageInfo, PageNames, PageParameters, PageRequest,
    Remaining,
};
pub use tree::{
    PROVIDER_CACHE_MAX, PROVIDER_CALLS_MAX, PROVIDER_TIMEOUT, PROVIDERS_PER_READ_MAX, Provider,
    ProviderError, ProviderRequest, Registration, UNAPPLIED_PATHS_MAX, Warning, WarningReason,
    WithOrigin,
};
