//! The commands, one file each: what its arguments are, what it does, what it prints.

mod bench;
mod check;
mod completions;
mod delete;
mod diff;
mod edit;
mod example;
mod export;
mod get;
mod history;
mod info;
mod load;
mod past_routes;
mod rollback;
mod schema;
mod serve;
mod set;
mod shell_routes;

pub use bench::Bench;
pub use check::Check;
pub use completions::Completions;
pub use delete::Delete;
pub use diff::Diff;
pub use edit::Edit;
pub use example::Example;
pub use export::Export;
pub use get::Get;
pub use history::History;
pub use info::Info;
pub use load::Load;
pub use rollback::Rollback;
pub use schema::SchemaTree;
pub use serve::Serve;
pub use set::{Set, tree_of};
