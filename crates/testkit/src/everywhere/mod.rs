//! One table of operations for every front end.
//!
//! The table ([`cases`]) holds operations as data. A [`FrontEnd`] runs one and returns a comparable [`Outcome`]. The
//! library is the reference: after each operation, the outcome of every other front end and the state of its store
//! must equal those of the library, field by field. What a front end cannot express is in its list of [`Limit`]s; such
//! an operation is applied to its store by the library, so that the following operations find the same state.
//!
//! | file | content |
//! |---|---|
//! | `operation.rs` | operations, and requests with their session and author |
//! | `outcome.rs` | outcomes, and the state of a store |
//! | `front_end.rs` | the interface of a front end |
//! | `case.rs` | cases: steps with the expected kind of outcome |
//! | `table/` | the cases, by subject |
//! | `run.rs` | runs all cases on a front end |
//! | `moments.rs` | the times of the steps of a case |
//! | `compare.rs` | compares two runs |
//!
//! A new front end implements [`FrontEnd`] on a store that the library can open too, and is added to the list of the
//! test `everywhere` of the crate `espalier-cli`.

mod case;
mod compare;
mod front_end;
mod moments;
mod operation;
mod outcome;
mod run;
mod table;

pub use case::{Case, Expected, Step};
pub use compare::{Comparison, compare, unexpected};
pub use front_end::{Base, FrontEnd, Limit, StoreAccess};
pub use operation::{
    Body, ContentChoice, DefaultsMode, EventFilterText, Format, LockOwner, Moment, Operation, Page,
    Placement, Prefer, Read, Receive, Request,
};
pub use outcome::{NewestCommit, Outcome, ReportedError, State};
pub use run::{Observation, run};
pub use table::{
    DENIED_USER, EVENT_USER, access_rules, cases, denied_cases, denied_event_cases, fixture, model,
    notifications_model,
};
