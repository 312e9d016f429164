//! Staged commits: a key space over an engine whose transactions are small.
//!
//! The engine is a [`CellStore`](engine::CellStore): an ordered set of cells, each with the revision that
//! last changed it. Cells can be read at any revision that is kept, and are changed by transactions that
//! test a few cells and write a few others. A batch that fits is one transaction. A larger one is staged:
//!
//! 1. Its writes, resolved to single cells, are stored as records under a random ID.
//! 2. A transaction tests the preconditions and creates the *gate*, which names the records.
//! 3. Each record is applied by one transaction, which tests and increments the position in the gate.
//! 4. The last transaction removes the gate and writes the head: the commit is complete.
//!
//! A commit may be planned on a state that is older than the newest, if that is cheaper to read (etcd: from
//! one server, without a quorum): its transaction tests everything that it depends on. If the older state
//! makes the commit fail, the newest state is read and the commit is planned again.
//!
//! A reader reads gate, head, and prefetched cells together. While there is a gate, it reads at the
//! revision that created the gate, so a partially applied commit is never visible. Committers first finish
//! the staged commit (its process may be dead); as each step tests the gate, several processes can do so
//! concurrently. Before the gate is created, nothing was applied; afterwards, everything will be.
//!
//! # Cells
//! | cell | holds |
//! |---|---|
//! | `f` | the format |
//! | `h` | the head: the changes of the newest commit; its revision is the version |
//! | `g` | the gate |
//! | `l` | present if a long value was ever written |
//! | `d`, key | a value, after a byte 0; for a long one, a byte 1 and the number of its chunks |
//! | `c`, key escaped, number | a chunk of a long value |
//! | `o`, name | the last commit of a session: its number and outcome |
//! | `s`, id, number | a record |
//!
//! A commit uses a *session* of its process, which numbers its commits. Each commit tests in its
//! transaction that the session is unchanged. If a response is lost, the session shows whether the commit
//! was applied; if it was not, writing to the session makes sure that it cannot be applied later.

mod commit;
mod config;
mod driver;
pub(crate) mod engine;
mod snapshot;
mod watch;

pub(crate) use driver::StagedDriver;
