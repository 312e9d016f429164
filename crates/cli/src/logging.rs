//! Logging to standard error, as text or JSON, with a filter in the syntax of `RUST_LOG`.

use tracing_subscriber::EnvFilter;

use espalier_terminal::output::{Form, LogLine};
use espalier_terminal::{Failure, Result};

/// The filter if neither the settings nor the command have one.
const DEFAULT_FILTER: &str = "warn";

/// Starts logging. Is called once in a process.
pub fn start(filter: Option<&str>, format: Option<&str>) -> Result<()> {
    let text = filter.unwrap_or(DEFAULT_FILTER);
    let filter = EnvFilter::try_new(text).map_err(|error| {
        Failure::usage(format!("--log {text}: {error}"))
            .hint("write a level (error, warn, info, debug, trace) or target=level,target=level")
    })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        // Colours are written as control characters.
        .with_ansi(false);
    match format.unwrap_or("text") {
        "text" => builder.with_writer(|| LogLine::new(Form::Text)).init(),
        "json" => builder
            .with_writer(|| LogLine::new(Form::Json))
            .json()
            .init(),
        other => {
            return Err(Failure::usage(format!(
                "--log-format {other}: write text or json"
            )));
        }
    }
    Ok(())
}
