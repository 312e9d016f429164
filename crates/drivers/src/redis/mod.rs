//! A key space in Redis: standalone, or a Cluster, whose slots it does not spread over (all keys of
//! one key space have one hash tag, as one commit has to change any of them). No modules.
//!
//! # What stands where
//! Every name begins with the prefix in braces, `{espalier}:`.
//!
//! | name | type | holds |
//! |---|---|---|
//! | `meta` | hash | `format`, `version` (of the newest commit), `floor` (the oldest that can be read), bytes of undo, bytes and entries of the log, rows in runs |
//! | `keys` | sorted set | every key that is in no run, and the last one of each run, all of score 0, so that they stand in the order of their bytes |
//! | `values` | hash | key to value, with the version that wrote it in front (8 bytes, big endian); for a run, that version with its first bit set, how many rows there are (4 bytes) and the first key |
//! | `runs` | sorted set | the last key of each run |
//! | `rows` | hash | the last key of each run, to its rows: keys and values, one after the other |
//! | `undo` | sorted set | for each change of a key that was there: the key (`00` as `00 FF`, ended by `00 00`) and the version, big endian |
//! | `before` | hash | the same members, to what the key held before that change, with its version |
//! | `packed` | hash | version, big endian, and a number, to keys and what they held before a commit of many changes; or their members in `undo`, when they are there |
//! | `pending` | sorted set | names in `packed` whose keys are not in `undo` yet, by version |
//! | `queue` | list | of what each commit saved: version, bytes, and its members of `undo` or a name in `packed`, in the order of time |
//! | `log` | stream | the changes of each commit, by version: `s` and how many bytes they are, then what they are, in one text or in one for each run |
//! | `lane:*` | string | the last commit of a connection, and what became of it; an hour long |
//! | `stage:*` | list | a large batch on its way; an hour long |
//!
//! # Runs
//! A row of its own is a member of a sorted set and a field of a hash, which take most of the server's time for
//! a large commit, and most of its memory. So what a large commit puts stays in runs of up to 32 rows that follow
//! each other, where no other key stands between them and the batch says that it will be read
//! [in order](espalier_keyspace::Batch::read_in_order). A commit that changes a row of a run, or puts
//! a key between two, gives that row a place of its own and leaves what is before and behind it packed.
//! Runs that are deleted or replaced whole are taken whole, and are saved so for older snapshots. A scan brings runs as
//! they are, and the driver takes them apart. A read of one key looks for the run that it would be in and brings
//! that, which costs the server some microseconds more than a row of its own; so documents, of which many are
//! read at once by their keys, make none.
//!
//! # Snapshots
//! Redis keeps no old versions, and a snapshot must not change. The alternatives: versions in the
//! members of the sorted set would make every read a range read and every scan pass over the dead;
//! a registry of open snapshots would cost two more round trips for each, and has to guess when
//! their process is gone. So commits save what they overwrite, and each value has the version that
//! wrote it in front. A read at a version takes the value that is there where it is no newer; else it
//! looks for the oldest change after the version, which saved what there was, unless the key was new
//! then: so a new key, as are most of a large load, has nothing saved. It is the same one round trip.
//! What a commit of few changes saves stands where it is looked for at once. Of many it stays packed as one
//! string, a fifth of the work, until the first read of an older snapshot that needs it: few ever do.
//! What is saved is bounded by bytes (`undo_bytes`); a snapshot that needs what was dropped is refused
//! as too old, and taken again by the store. What was expected to be read comes with the version, in
//! the round trip that takes the snapshot.
//! A batch beyond [`UNDO_OPERATIONS_MAX`] saves nothing and ends all older snapshots.
//!
//! # Commits
//! One script tests the preconditions, applies the operations, counts the version and writes the
//! log. Scripts of Redis are not undone when they fail, so all that can refuse comes first; they
//! are one unit in the append-only file. Operations are looked up and written 128 to a command, as a
//! call from a script costs more than what it does. Puts of different keys, which most batches are,
//! come in order and have a way of their own: the sorted set tells how many of the keys are new, so only others
//! are looked at, and the log takes the batch as it came. A batch over [`DIRECT_BYTES_MAX`] is pipelined into a
//! list first and then applied by the same script, which holds the server up while it runs: ten
//! seconds or so for a million operations. Others wait for as long as their `timeout_ms` allows.
//!
//! A commit carries the name of its connection and a number. When the answer is lost, the driver
//! asks on a new connection what became of it, and that very question makes the script refuse the
//! number from then on. So a commit is never applied twice, nor reported as failed and then applied;
//! where nobody answers in time, the error is [`OutcomeUnknown`].
//!
//! # What is promised
//! | durability | the server's settings | process killed | server killed | machine stopped |
//! |---|---|---|---|---|
//! | `durable` | `appendonly yes`, `appendfsync always`, else it is not opened | all there | all there | all there |
//! | `relaxed` | `appendonly yes`, `everysec` | all there | all there | a second or two may be lost |
//! | `relaxed` | `appendonly no` | all there | all since the last snapshot file is lost | the same |
//!
//! Replication of Redis is asynchronous: a failover of a Cluster may lose acknowledged commits,
//! whatever the settings. A driver that sees versions go back says so instead of reading on.
//!
//! [`OutcomeUnknown`]: espalier_keyspace::ErrorKind::OutcomeUnknown

mod commit;
mod config;
mod driver;
mod engine;
mod snapshot;
mod watch;

pub use crate::durability::Durability;
pub use config::{Config, TIMEOUT, UNDO_BYTES};
pub use driver::{NAME, NAME_TLS, Redis};
pub(crate) use driver::{effective_durability_url, open_url, resolve_url};
pub use engine::{DIRECT_BYTES_MAX, FORMAT, LOG_BYTES_MAX, LOG_COMMITS_MAX, UNDO_OPERATIONS_MAX};
