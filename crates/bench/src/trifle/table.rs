//! The table in the published layout.

use std::fmt;

use super::comparison::{self, Column};
use super::engine::Engine;
use super::payload::Payload;

/// Seconds of all calls, for each engine, payload and number of calls.
#[derive(Default)]
pub struct Table {
    lines: Vec<Line>,
}

struct Line {
    calls: u64,
    payload: Payload,
    engine: String,
    seconds: [f64; 6],
    /// Our measurements of Trifle::Stats on the same engine.
    theirs: [Option<f64>; 6],
}

impl Table {
    /// Adds a line.
    pub fn add(&mut self, engine: &Engine, payload: Payload, calls: u64, seconds: [f64; 6]) {
        let theirs = Column::ALL.map(|column| {
            let one = comparison::measured(engine.peer?, payload, column)?;
            Some(one * calls as f64)
        });
        self.lines.push(Line {
            calls,
            payload,
            engine: format!(
                "{} {}",
                engine.driver.name(),
                engine.configuration.durability.as_str()
            ),
            seconds,
            theirs,
        });
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\nSeconds of all calls; in brackets the ratio of Trifle::Stats' time on the same engine to it, \
                     measured on a machine like this one (embedded: on SQLite)\n"
        )?;
        write!(f, "{:>6}  {:<16}  {:<18}", "calls", "payload", "engine")?;
        for column in Column::ALL {
            write!(f, "{:>17}", column.name())?;
        }
        writeln!(f)?;
        for line in &self.lines {
            write!(
                f,
                "{:>6}  {:<16}  {:<18}",
                line.calls, line.payload.name, line.engine
            )?;
            for (seconds, theirs) in line.seconds.iter().zip(line.theirs) {
                let ratio = theirs.map(|theirs| format!(" (x{:.1})", theirs / seconds));
                write!(
                    f,
                    "{:>17}",
                    format!("{seconds:.4}{}", ratio.unwrap_or_default())
                )?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
