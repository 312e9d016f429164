//! Memory policies: drivers over any driver that keep a part of it, or all, in memory.
//!
//! | file | holds |
//! |---|---|
//! | `options.rs` | the options, which every engine's URL may have |
//! | `follow.rs` | following the commits of an engine: one thread, and what is known of how current the view is |
//! | `keeper.rs` | what a policy has to say for itself, and the driver made of it |
//! | `view.rs` | keys and values in a persistent map, brought from version to version |
//! | `open.rs` | an engine under a policy |
//! | `cached.rs`, `recent.rs`, `indexed.rs`, `ram.rs` | the policies |
//!
//! The decision: a commit goes to the engine, and comes back with everybody else's through the
//! engine's watch. It is not applied to the view by the one who made it, because commits of other
//! threads may share its version; instead, the next snapshot waits until the view has reached it.
//! So there is one way in which a view changes, and it never shows a state that the engine did not have.

mod cached;
mod follow;
mod indexed;
mod keeper;
mod open;
mod options;
mod ram;
mod recent;
mod view;

pub(crate) use open::over_url;
pub use open::under_policy;
