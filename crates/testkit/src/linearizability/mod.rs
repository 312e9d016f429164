//! Whether what several processes saw of one key space can have happened in one order.
//!
//! A history is *linearizable* when each operation can be put at one moment between its call and
//! its return, so that every answer is that of a key space on which the operations happen one by
//! one, in the order of these moments. That is what users of several processes over one engine
//! expect: no acknowledged commit is lost, none happens twice, none is half visible, and nobody sees
//! an older state than somebody has seen before.
//!
//! - [`search()`] decides it, for any object that can be stepped, by the algorithm of Wing and Gong
//!   with Lowe's memory of what was tried;
//! - [`space`] is the object: a few registers and a counter in one key space, changed and read
//!   together;
//! - [`worker`] is a process that works on a key space at random and tells what it does;
//! - [`run()`] starts such processes, has servers, connections and processes hurt meanwhile
//!   ([`Hurt`]), and checks what all of them told.
//!
//! The crates with such a checker take complete histories only; here processes are killed in the
//! middle of an operation.

mod account;
mod record;
mod run;
mod search;
pub mod space;
pub mod worker;

pub use run::{Hurt, Run, SECONDS_VARIABLE, run};
pub use search::{Object, Operation, Verdict, search};
