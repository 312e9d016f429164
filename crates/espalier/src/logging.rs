//! Logs: on standard error, as text or JSON, filtered as `RUST_LOG` is.

use std::io;

use tracing_subscriber::EnvFilter;

use crate::error::{Failure, Result};

/// What is logged where nobody says.
const DEFAULT_FILTER: &str = "warn";

/// Starts logging. Once in a process.
pub fn start(filter: Option<&str>, format: Option<&str>) -> Result<()> {
    let text = filter.unwrap_or(DEFAULT_FILTER);
    let filter = EnvFilter::try_new(text).map_err(|error| {
        Failure::usage(format!("--log {text}: {error}"))
            .hint("write a level (error, warn, info, debug, trace) or target=level,target=level")
    })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr);
    match format.unwrap_or("text") {
        "text" => builder
            .with_ansi(io::IsTerminal::is_terminal(&io::stderr()))
            .init(),
        "json" => builder.json().init(),
        other => {
            return Err(Failure::usage(format!(
                "--log-format {other}: write text or json"
            )));
        }
    }
    Ok(())
}
