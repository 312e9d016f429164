//! `espalier netconf`: a NETCONF client, for the servers of any vendor.
//!
//! | file | content |
//! |---|---|
//! | `command.rs` | the command, and which session it uses |
//! | `connection.rs` | options of the connection |
//! | `context.rs` | what every operation has: the session, the form of output |
//! | `operation.rs` | the operations, on the command line and in the shell |
//! | `filter.rs`, `payload.rs` | arguments that are XML |
//! | `read.rs`, `edit.rs`, `control.rs`, `get_schema.rs`, `rpc.rs`, `subscribe.rs` | the operations |
//! | `server_modules.rs` | the modules of a server |
//! | `output.rs`, `as_json.rs`, `failure.rs` | replies and errors |
//! | `shell/` | an interactive session |
//! | `diff/` | the differences of two configurations |

mod as_json;
mod command;
mod connection;
mod context;
mod control;
mod diff;
mod edit;
mod failure;
mod filter;
mod get_schema;
mod operation;
mod output;
mod payload;
mod read;
mod rpc;
mod server_modules;
mod shell;
mod subscribe;

pub use command::NetconfCommand;
