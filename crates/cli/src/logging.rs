//! Logs: on standard error, as text or JSON, filtered as `RUST_LOG` is.

use tracing_subscriber::EnvFilter;

use espalier_terminal::output::{Form, LogLine};
use espalier_terminal::{Failure, Result};

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
        // Colours are control characters themselves.
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
