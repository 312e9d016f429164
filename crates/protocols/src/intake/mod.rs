//! Receives the whole body of a request before the request is handled.
//!
//! Nothing in the store is locked while a slow client sends. Small bodies are kept in memory, large ones in
//! an unnamed file, which disappears with the process. All requests of a server share the space for both.

mod budget;
mod config;
mod error;
mod media;
mod receive;
mod received_body;
mod spill;

pub use config::IntakeConfig;
pub use error::IntakeError;
pub use media::{Media, media};
pub use receive::Intake;
pub(crate) use receive::PartialBody;
pub use received_body::{Held, Staged, StagedReader};
