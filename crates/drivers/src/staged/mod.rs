//! Staged commits: a key space over an engine whose transactions are small.
//!
//! The engine is a set of [`Cells`](engine::Cells): ordered, each with the revision that last
//! changed it, read at any revision that is kept, and changed by transactions that test a few cells
//! and write a few others. A batch that fits is one transaction. One that does not is staged:
//!
//! 1. Its writes, worked out to single cells, are written as records under a random name.
//! 2. A transaction tests the preconditions and makes the *gate*, which names the records.
//! 3. Each record is one transaction, which tests that it is the gate's turn and counts it on.
//! 4. The last one removes the gate and writes the head: the commit has happened.
//!
//! What a commit is worked out on may be older than the newest state, where the engine answers that more
//! cheaply (etcd: the server that is asked, without the others): its transaction tests all that it
//! depends on. What an older state says against a commit does not count; then the newest one is asked.
//!
//! A reader asks for gate and head together, and for what it says that it will read. While there is
//! a gate, readers read at the revision that made it, so nothing is ever half
//! visible; committers finish what the gate says before they commit (whoever began may be dead),
//! and as each step tests the gate, it does not matter how many do so at once. Before the gate is
//! made nothing has happened, after it everything will.
//!
//! # What stands where
//! | cell | holds |
//! |---|---|
//! | `f` | the format |
//! | `h` | the head: what the newest commit changed; its revision is the version |
//! | `g` | the gate |
//! | `l` | there when a long value was ever written |
//! | `d`, key | a value, after a byte 0; a long one is a byte 1 and the number of its chunks |
//! | `c`, key escaped, number | a chunk of a long value |
//! | `o`, name | the last commit of a lane: its number and what became of it |
//! | `s`, id, number | a record |
//!
//! A commit passes through a *lane* of its process, which counts its commits and tests in the same
//! transaction that nobody else has touched it. When an answer is lost, the lane tells whether the
//! commit happened, and writing to it makes sure that it never will when it did not.

mod commit;
mod config;
mod driver;
pub(crate) mod engine;
mod snapshot;
mod watch;

pub(crate) use driver::Staged;
