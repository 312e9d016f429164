//! Changes of what a filter selects, between two versions (RFC 8641).
//!
//! | file | content |
//! |---|---|
//! | `tracked_filter.rs` | a filter with its plan for a schema |
//! | `pushed_state.rs` | whether a filter reads pushed state only |
//! | `routes.rs` | an index from paths to the filters that a change there can concern |
//! | `scopes.rs` | the instances whose selected part a change can affect |
//! | `narrowed_reads.rs` | reads of what a filter selects at and below one instance |
//! | `difference.rs` | the edits from the selected part before to that after |
//! | `siblings.rs` | the edits between two lists of siblings |
//!
//! The key decision: the selected part of each changed instance is read before and after, with the scan and the access rules
//! of all filtered reads, and compared. So an instance that begins or ceases to fulfil a condition, or to be readable, is
//! created or deleted as a whole, and the cost is that of the changed instances (decision 0083).

mod difference;
mod narrowed_reads;
mod pushed_state;
mod routes;
mod scopes;
mod siblings;
mod tracked_filter;

pub use difference::{FILTERED_DIFFERENCE_NODES_MAX, FilteredDifference};
pub use routes::FilterRoutes;
pub use scopes::{ChangedScopes, FILTERED_SCOPES_MAX, ReaderAccess};
pub use siblings::{FilteredChange, FilteredEdit};
pub use tracked_filter::TrackedFilter;
