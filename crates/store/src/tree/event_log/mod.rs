//! The event log of an anchor: the notifications that were sent, in the order of their commits, with a bounded number,
//! age and size.
//!
//! | file | content |
//! |---|---|
//! | `record.rs` | a record, and its stored form |
//! | `state.rs` | the state of a log: which records there are |
//! | `settings.rs` | retention, and which streams there are |
//! | `append.rs` | appends records, and deletes the oldest ones |
//! | `check.rs` | checks the stored log |
//! | `read.rs` | reads records from a sequence number or a time, and waits for more |
//!
//! The key decision: the key of a record is its sequence number, which the commit that appends it assigns under a
//! precondition on the state of the log. So the numbers have the order of the commits, of all processes, without gaps: a
//! reader that knows the last number it read misses nothing and gets nothing twice (decision 0073). Keys that begin with a
//! time would need no search for a time, but clocks are set back, and a record could come before one that was read.

mod append;
mod check;
mod read;
mod record;
mod settings;
mod state;

pub use append::{EVENT_BYTES_MAX, NewEvent};
pub use read::{EVENT_PAGE_BYTES_MAX, EVENT_PAGE_RECORDS_MAX, EventPage};
pub use record::EventRecord;
pub use settings::{
    EVENT_AGE_MAX, EVENT_LOG_BYTES_MAX, EVENT_RECORDS_MAX, EVENT_SETTINGS_FORMAT, EventSettings,
};
pub use state::EventLogState;
