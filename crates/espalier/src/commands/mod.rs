//! The commands, one file each: what its arguments are, what it does, what it prints.

mod bench;
mod check;
mod completions;
mod delete;
mod edit;
mod example;
mod export;
mod get;
mod info;
mod load;
mod schema;
mod serve;
mod set;
mod shell_routes;

pub use bench::Bench;
pub use check::Check;
pub use completions::Completions;
pub use delete::Delete;
pub use edit::Edit;
pub use example::Example;
pub use export::Export;
pub use get::Get;
pub use info::Info;
pub use load::Load;
pub use schema::SchemaTree;
pub use serve::Serve;
pub use set::Set;
