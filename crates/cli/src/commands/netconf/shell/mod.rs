//! `espalier netconf TARGET shell`: an interactive session.
//!
//! | file | content |
//! |---|---|
//! | `shell_command.rs` | the command: lines from a terminal or a script |
//! | `line.rs` | a line as a command |
//! | `words.rs` | the words of a line |
//! | `editor.rs`, `completion.rs` | the line editor, with history and completion |

mod completion;
mod editor;
mod line;
mod shell_command;
mod words;

pub use shell_command::Shell;
