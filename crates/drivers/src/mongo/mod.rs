//! A key space in MongoDB, or in what speaks its protocol: a single server, a replica set, a sharded
//! cluster, FerretDB.
//!
//! Nothing is asked of the server but that inserting a second document with the same `_id` is
//! refused, and that changing one document is atomic. Servers that have transactions and change
//! streams are used in the same way: no server with them is at hand where Espalier is tested, and
//! what is not tested is not here.
//!
//! # What stands where
//! Every collection's name begins with the prefix, `espalier.`.
//!
//! | collection | a document |
//! |---|---|
//! | `data` | a version of a cell of [`crate::staged`]: `_id` (the key, the revision that wrote it, six letters of chance), `m` (the revision), `c` (the one that made the cell, where that is another), `v` (the value), `until` (the revision that replaced or deleted it), `pending` (its transaction, until that is applied) |
//! | `chunks`, `staging` | the same, for parts of long values and for batches on their way |
//! | `commits` | a transaction, by revision: what it replaced and deleted, what watchers are told |
//! | `versions` | a revision that can be seen, with the few cells that have no documents of their own |
//! | `state` | `format`; `floor`, the oldest revision that can be read |
//!
//! MongoDB puts binary `_id`s in order of their length first, so keys are written as text, six bits
//! a letter, in letters that stand in the order of their values (`engine/names.rs`).
//!
//! # How a transaction happens
//! 1. What its tests and writes depend on is read at the newest revision that this process knows,
//!    where it was not just read there. If there is a newer one, step 3 tells, and that what was read
//!    was not whole, too.
//! 2. The new versions are inserted as pending. Nobody sees them.
//! 3. The commit is inserted, under the number that follows. Of two that follow the same revision
//!    one is refused, reads again and decides again.
//! 4. It is applied: the new versions are no longer pending, the old ones get their end.
//! 5. The version is inserted. From here on everybody sees it, and it is acknowledged.
//!
//! Whoever is refused in step 3 and finds the other's commit without a version waits a little, then
//! applies it himself: that process may be dead. Steps 4 and 5 may be done any number of times, and
//! at any later time, as every document they change is named by transaction. So a process that
//! halts anywhere in between, for whatever time, does no harm.
//!
//! A version of a cell holds from `m` until `until`, so later commits do not disturb who reads at a
//! revision. Old ones are kept for five minutes (`keep_ms`) and then deleted; a snapshot that is older
//! is refused as too old. Nobody passes by them: the index `live` (`until`, `_id`) has the versions
//! without an end together, in the order of keys. A reader asks for those, and *then* for what held at
//! the revision and has ended since; nothing can be missed in that order. Who reads the newest revision
//! asks in place of the latter whether a commit has taken the place after it: ends are written after
//! that. Where one has, all is asked again.

mod commit;
mod config;
mod driver;
mod engine;
mod snapshot;
mod watch;

pub use crate::durability::Durability;
pub use config::{Config, KEEP, OPERATIONS, TIMEOUT};
pub use driver::{Mongo, NAME};
pub(crate) use driver::{look_url, open_url};
pub use engine::{REQUEST_BYTES, REVISION_MAX};
