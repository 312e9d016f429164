//! A key space in Redis, standalone or in a Cluster. All Redis keys of a key space have the same hash tag, as
//! one commit may change any of them, so they are all on one server of the Cluster. No Redis modules are used.
//!
//! # Layout
//! Every name begins with the prefix in braces, `{espalier}:`.
//!
//! | name | type | content |
//! |---|---|---|
//! | `meta` | hash | `format`, `version` (of the newest commit), `floor` (the oldest version that can be read), bytes of undo, bytes and entries of the log, rows in runs |
//! | `keys` | sorted set | every key that is in no run, and the last key of each run, all with score 0, so that they are sorted by their bytes |
//! | `values` | hash | from key to value, with the version that wrote it in front (8 bytes, big endian); for a run: that version with its first bit set, the number of rows (4 bytes) and the first key |
//! | `runs` | sorted set | the last key of each run |
//! | `rows` | hash | from the last key of each run to its rows: alternating keys and values |
//! | `undo` | sorted set | for each change of an existing key: the key (`00` as `00 FF`, terminated by `00 00`) and the version, big endian |
//! | `before` | hash | from the same members to the value of the key before that change, with its version |
//! | `packed` | hash | from a version, big endian, and a number, to keys and their values before a commit of many changes; or, after they were unpacked, to their members in `undo` |
//! | `pending` | sorted set | names in `packed` whose keys are not unpacked into `undo` yet, by version |
//! | `queue` | list | what each commit saved, oldest first: version, bytes, and its members of `undo` or a name in `packed` |
//! | `log` | stream | the changes of each commit, by version: `s` and their size in bytes, then the changes, in one field or in one for each run |
//! | `lane:*` | string | the last commit of a session (a connection with a name), and its outcome; expires after an hour |
//! | `stage:*` | list | a large batch that is being sent; expires after an hour |
//!
//! # Runs
//! A row of its own is a member of a sorted set and a field of a hash, which take most of the server's time for
//! a large commit, and most of its memory. So a large commit stores consecutive rows in runs of up to 32, if no
//! other key is between them and the batch declares that it will be read
//! [in order](espalier_keyspace::Batch::hint_sequential_reads). A commit that changes a row of a run, or puts a key
//! between two, stores that row on its own and leaves the rows before and after it in runs. If all rows of a run are
//! deleted or replaced, the run is removed, and saved for older snapshots, as a whole. A scan returns runs as they
//! are stored, and the driver unpacks them. A read of one key searches for the run that would contain it and returns
//! that, which costs the server some microseconds more than a row of its own. So documents, of which many are read
//! together by their keys, are not stored in runs.
//!
//! # Snapshots
//! Redis stores no old versions, and a snapshot must not change. Rejected alternatives: versions in the members of
//! the sorted set would make every read a range read, and every scan would skip old versions; a registry of open
//! snapshots would cost two more round trips for each, and cannot detect reliably that a process has died. So commits
//! save what they overwrite, and each value has the version that wrote it in front. A read at a version returns
//! the stored value if it is not newer. Otherwise it searches for the oldest change after the version, which
//! has saved the value before, unless the key was new then. For a new key, as are most of a large load, nothing is
//! saved. All this is one round trip. Values saved by a commit of few changes are stored where reads search for
//! them. Those of many changes are packed in one string, at a fifth of the cost, until the first read of an older
//! snapshot needs them, which is rare.
//! The saved values are limited (`undo_bytes`). A snapshot that needs dropped ones fails as too old, and the store
//! takes a new one. What the caller expects to read is prefetched with the version, in the round trip that takes
//! the snapshot.
//! A batch of more than [`UNDO_OPERATIONS_MAX`] operations saves nothing and ends all older snapshots.
//!
//! # Commits
//! One script tests the preconditions, applies the operations, increments the version and writes the log. Redis does
//! not roll back a script that fails, so everything that can reject the batch comes first. The append-only
//! file contains the writes of a script as one unit. Operations are read and written 128 per command, as a call from
//! a script costs more than its work. Puts of different keys, which most batches are, are sorted and
//! handled separately: `ZADD` returns how many of the keys are new, so values are read only if some are not, and
//! the log stores the batch as it was sent. A batch of more than [`DIRECT_BYTES_MAX`] bytes is first staged in a list
//! and then applied by the same script, which blocks the server while it runs: about ten seconds for a million
//! operations. Other clients wait as long as their `timeout_ms` allows.
//!
//! A commit carries the name of its session and a number. If the reply is lost, the driver queries the outcome on a
//! new connection, and that query also makes the commit script reject the number from then on. So a commit is never
//! applied twice, nor reported as failed and then applied. If the server does not reply in time, the error is
//! [`OutcomeUnknown`].
//!
//! # Durability
//! | durability | the server's settings | process killed | server killed | machine stopped |
//! |---|---|---|---|---|
//! | `durable` | `appendonly yes`, `appendfsync always` (required on opening) | nothing is lost | nothing is lost | nothing is lost |
//! | `relaxed` | `appendonly yes`, `everysec` | nothing is lost | nothing is lost | commits of the last one or two seconds may be lost |
//! | `relaxed` | `appendonly no` | nothing is lost | commits since the last snapshot file are lost | the same |
//!
//! Replication in Redis is asynchronous: a failover of a Cluster may lose acknowledged commits with any
//! settings. If the version of the server decreases, reads fail.
//!
//! [`OutcomeUnknown`]: espalier_keyspace::ErrorKind::OutcomeUnknown

mod commit;
mod config;
mod driver;
mod engine;
mod snapshot;
mod watch;

pub use crate::durability::Durability;
pub use config::{Config, NAME, NAME_TLS, TIMEOUT, UNDO_BYTES};
pub use driver::Redis;
pub(crate) use driver::{effective_durability_url, open_url, resolve_url};
pub use engine::{DIRECT_BYTES_MAX, FORMAT, LOG_BYTES_MAX, LOG_COMMITS_MAX, UNDO_OPERATIONS_MAX};
