//! Memory policies: drivers over any driver that keep a part of it, or all, in memory.
//!
//! | file | holds |
//! |---|---|
//! | `options.rs` | the options, which every engine's URL may have |
//! | `follow.rs` | following the commits of an engine: one thread, and what is known of how current the view is |
//! | `keeper.rs` | what a policy has to say for itself, and the driver made of it |
//! | `steps.rs` | commits of this process on their way into the view |
//! | `view.rs` | keys and values in a map, brought from version to version |
//! | `open.rs` | an engine under a policy |
//! | `cached.rs`, `recent.rs`, `indexed.rs`, `ram.rs` | the policies |
//!
//! The decision: a view goes from version to version of the engine and never shows a state that the
//! engine did not have. A commit goes to the engine, and comes back with everybody else's through the
//! engine's watch; where the engine says what alone made the next version, whoever committed takes it
//! in at once. Either way the next snapshot of the process waits until the view has reached it.

mod cached;
mod follow;
mod indexed;
mod keeper;
mod open;
mod options;
mod ram;
mod recent;
mod steps;
mod view;

pub use open::under_policy;
pub(crate) use open::{ask_url, over_url};
