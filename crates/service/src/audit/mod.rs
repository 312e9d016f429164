//! The audit log: an append-only record of each login, write, operation and denial, in the key space.
//!
//! [`crate::SessionDatastore`] fills an [`AuditEntry`] for each call and passes it to [`AuditLog::append`]. The log adds a
//! time and a unique [`AuditSequence`], and stores the record as one row. The row's key is unique without
//! reading anything, so any number of processes append to one store and never conflict.
//!
//! | file | content |
//! |---|---|
//! | `operation` | the operations that are recorded, and the kinds of records |
//! | `record` | a record, its bounds and its stored form |
//! | `sequence` | the order and the keys of records |
//! | `settings` | which kinds are recorded, durability and retention; stored, the same for all processes |
//! | `service_log` | the log as the service uses it |
//! | `log`, `log_state` | appending; `pending` queues records, `group` commits them |
//! | `query`, `criteria` | reading pages of records by time, user, operation, result and path |
//! | `parameters` | queries as parameters of requests |
//! | `retention` | deleting the oldest records in bounded steps |
//! | `failed_logins` | limits the records of failed logins |
//! | `check` | finds damaged records |
//! | `export` | records as JSON lines |
//! | `follow` | a stream of new records |
//! | `sink`, `syslog`, `json_lines_file` | copies of new records, sent by a thread with a bounded queue |
//!
//! Durability has two modes, see [`AuditMode`]. The alternative, to store a record in the commit that it
//! describes, is refused: logins and denials have no commit, and a record names the version that the commit
//! made, which is unknown before.

mod check;
mod criteria;
mod error;
mod export;
mod failed_logins;
mod follow;
mod group;
mod json_lines_file;
mod log;
mod log_state;
mod operation;
mod parameters;
mod pending;
mod query;
mod record;
mod retention;
mod sequence;
mod service_log;
mod settings;
mod sink;
mod syslog;
mod truncate;

pub use check::{AuditCheck, UNREADABLE_LISTED_MAX, check};
pub use criteria::{AuditCriteria, ResultCriterion};
pub use error::AuditError;
pub use export::{export, write_json_line};
pub use failed_logins::FAILED_LOGINS_RECORDED_MAX;
pub(crate) use failed_logins::FailedLogins;
pub use follow::{AuditFollower, FOLLOW_OVERLAP, FOLLOW_SEEN_MAX, FollowStart};
pub use group::{GROUP_BYTES_MAX, GROUP_RECORDS_MAX, STRICT_TRIES_MAX};
pub use json_lines_file::JsonLinesFile;
pub use log::{Appended, AuditLog};
pub use log_state::MAINTENANCE_INTERVAL;
pub use operation::{AuditKind, AuditOperation, UnknownOperation};
pub use pending::{
    AUDIT_DELAY_MAX, AUDIT_RETRY_MAX, QUEUE_BYTES_MAX, QUEUE_RECORDS_MAX, QUEUE_WAIT_MAX,
};
pub use query::{AUDIT_PAGE_MAX, AUDIT_SCAN_MAX, AuditOrder, AuditPage, AuditQuery, query};
pub use record::{
    AuditEntry, AuditRecord, AuditResult, AuditTarget, MESSAGE_BYTES_MAX, NAME_BYTES_MAX,
    PATH_BYTES_MAX, PATHS_MAX, PROBLEM_KINDS, RECORD_FORMAT,
};
pub use retention::{PRUNE_STEP_MAX, Pruned, prune_step, stored_records};
pub use sequence::{AuditSequence, InvalidSequence, SEQUENCE_BYTES};
pub use service_log::{LOGIN_RECORD_INTERVAL, ServiceLog};
pub use settings::{
    AUDIT_AGE_MAX, AUDIT_RECORDS_MAX, AuditFilter, AuditMode, AuditSettings, SETTINGS_FORMAT,
};
pub use sink::{AuditOutput, AuditSink, SINK_CLOSE_MAX, SINK_QUEUE_MAX};
pub use syslog::{InvalidSyslogAddress, SYSLOG_LINE_BYTES_MAX, Syslog, SyslogAddress, syslog_line};
pub use truncate::TRUNCATION_MARK;
