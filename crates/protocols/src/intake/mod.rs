//! Bodies of requests, taken in whole before anything is done with them.
//!
//! A client may send as slowly as it likes: nothing of the store is locked meanwhile. Small bodies are held
//! in memory, large ones in a file without a name, which is gone when the process is. All requests
//! of a server share the room for both.

mod budget;
mod config;
mod error;
mod media;
mod spill;
mod stage;
mod staged;

pub use config::IntakeConfig;
pub use error::IntakeError;
pub use media::{Media, media};
pub use stage::Intake;
pub use staged::{Held, Staged, StagedReader};
