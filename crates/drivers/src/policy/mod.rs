//! Memory policies: driver wrappers that cache a part of an engine, or all of it, in memory.
//!
//! | file | holds |
//! |---|---|
//! | `options.rs` | the options, which the URL of every engine accepts |
//! | `follower.rs` | following the commits of an engine on one thread, and how current the view is |
//! | `policy_driver.rs` | the interface of a policy, and its driver |
//! | `pending_steps.rs` | commits of this process that are not in the view yet |
//! | `memory_map.rs` | keys and values in a map, updated from version to version |
//! | `open.rs` | opening an engine with a policy |
//! | `cached.rs`, `recent.rs`, `indexed.rs`, `ram.rs` | the policies |
//!
//! A view moves from version to version of the engine and never shows a state that the engine did not have.
//! A commit goes to the engine and returns through the engine's watch, together with the commits of other
//! processes. If the engine reports that the commit alone created its version, the committing thread
//! applies it to the view at once. In both cases the next snapshot of this process waits until the view has
//! reached the commit.

mod cached;
mod follower;
mod indexed;
mod memory_map;
mod open;
mod options;
mod pending_steps;
mod policy_driver;
mod ram;
mod recent;

pub use open::under_policy;
pub(crate) use open::{open_url, query_url};
