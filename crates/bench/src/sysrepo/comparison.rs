//! Emits rows, with notes that compare them with sysrepo's figures and with earlier rows.

use std::sync::LazyLock;

use crate::configuration::Configuration;
use crate::engine::Engine;
use crate::figures::Figures;
use crate::output::Output;
use crate::row::Row;
use espalier_terminal::Result;

/// The figures of sysrepo.
static FIGURES: LazyLock<Figures> =
    LazyLock::new(|| Figures::embedded(include_str!("../../data/figures/sysrepo.toml")));

/// The row of the unordered list, which is compared with that of the user-ordered list.
const UNORDERED: &str = "create all items";
const USER_ORDERED: &str = "create user ordered items";

/// The rows of a suite measured so far.
pub struct Comparison<'o> {
    /// The name of the suite in rows.
    pub suite: &'static str,
    output: &'o mut Output,
    measured: Vec<Row>,
}

impl<'o> Comparison<'o> {
    /// Creates a comparison without rows.
    pub fn new(suite: &'static str, output: &'o mut Output) -> Self {
        Self {
            suite,
            output,
            measured: Vec::new(),
        }
    }

    /// Emits a row, with notes on its comparisons.
    pub fn row(&mut self, configuration: &Configuration, mut row: Row) -> Result<()> {
        let is_local = !matches!(configuration.engine, Engine::Server { .. });
        let plugin = plugin_of(&row.driver);
        let seconds = |peer: &str| FIGURES.seconds(peer, plugin, &row.row, row.size);
        let cpu_s = seconds("sysrepo, cpu");
        let published_s = seconds(&format!("sysrepo, {plugin}"));
        match (cpu_s, row.cpu_s) {
            // The processor time of a server is not in that of this process.
            (Some(theirs), Some(ours)) if is_local => {
                row = row.note(format!("cpu x{:.1} less than sysrepo's", theirs / ours));
            }
            _ => {}
        }
        if let (Some(theirs), Some(ours)) = (published_s, row.median_s) {
            row = row.note(format!(
                "x{:.1} less than published for {plugin}",
                theirs / ours
            ));
        }
        let peers = FIGURES.peers(plugin, &row.row, row.size);
        row = row.peers(peers);
        if configuration.engine != Engine::Memory
            && let Some(memory) =
                self.measured_row(&row.row, row.size, |row| row.driver == "memory")
        {
            let factor = row.factor(row.median_s, memory.median_s);
            row = row.note(format!("{factor} of the time in memory"));
        }
        let on_same = |other: &Row| other.key()[2..] == row.key()[2..];
        let other = match row.row.as_str() {
            USER_ORDERED => self.measured_row(UNORDERED, row.size, on_same),
            UNORDERED => self.measured_row(USER_ORDERED, row.size, on_same),
            _ => None,
        };
        if let Some(other) = other {
            let factor = match row.row.as_str() {
                USER_ORDERED => row.factor(row.median_s, other.median_s),
                _ => row.factor(other.median_s, row.median_s),
            };
            row = row.note(format!("user ordered is {factor} of unordered"));
        }
        self.output.add_row(&row)?;
        self.measured.push(row);
        Ok(())
    }

    fn measured_row(
        &self,
        name: &str,
        size: u64,
        is_wanted: impl Fn(&Row) -> bool,
    ) -> Option<&Row> {
        let matches = |row: &&Row| row.row == name && row.size == size && is_wanted(row);
        self.measured.iter().find(matches)
    }
}

/// sysrepo's plugin for the engine of a driver, or the closest one.
fn plugin_of(driver: &str) -> &'static str {
    match driver {
        "redis" | "rediss" => "REDIS DS",
        "mongodb" => "MONGO DS",
        _ => "JSON DS file",
    }
}
