//! Rows in the layout that tables of cost against size are published in: a line for each row, a
//! column for each size, and how many times less than the first peer's figure.

use std::fmt;

use super::output::duration;
use super::row::{Peer, Row};

/// The rows of one engine.
pub struct Layout {
    /// The engine.
    pub engine: String,
    /// The columns.
    pub sizes: Vec<u64>,
    /// The lines: a row's name, and a cell for each size.
    pub lines: Vec<(String, Vec<Option<Cell>>)>,
}

/// A figure of ours beside a peer's.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The median of the wall-clock times.
    pub median_s: f64,
    /// How many times more the first peer takes: processor time against processor time where the
    /// peer's is that.
    pub times: Option<f64>,
}

impl Layout {
    /// The rows, one layout for each engine, in the order in which they come.
    pub fn of<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Vec<Self> {
        let mut layouts: Vec<Self> = Vec::new();
        for row in rows {
            let engine = engine(row);
            let at = layouts.iter().position(|layout| layout.engine == engine);
            let at = at.unwrap_or_else(|| {
                layouts.push(Self {
                    engine,
                    sizes: Vec::new(),
                    lines: Vec::new(),
                });
                layouts.len() - 1
            });
            layouts[at].add(row);
        }
        layouts
    }

    fn add(&mut self, row: &Row) {
        let Some(median_s) = row.median_s else {
            return;
        };
        let column = self.sizes.iter().position(|&size| size == row.size);
        let column = column.unwrap_or_else(|| {
            self.sizes.push(row.size);
            self.sizes.len() - 1
        });
        let line = self.lines.iter().position(|line| line.0 == row.row);
        let line = line.unwrap_or_else(|| {
            self.lines.push((row.row.clone(), Vec::new()));
            self.lines.len() - 1
        });
        let cells = &mut self.lines[line].1;
        cells.resize(cells.len().max(column + 1), None);
        let times = row.peer.first().and_then(|peer| times(row, peer));
        cells[column] = Some(Cell { median_s, times });
    }
}

fn engine(row: &Row) -> String {
    let parts = [row.driver.as_str(), row.durability, row.policy];
    let parts: Vec<_> = parts
        .into_iter()
        .filter(|part| !["none", "ram", "uncached"].contains(part))
        .collect();
    parts.join(" ")
}

fn times(row: &Row, peer: &Peer) -> Option<f64> {
    let ours = match peer.name.ends_with("cpu") {
        true => row.cpu_s,
        false => row.median_s,
    };
    ours.filter(|ours| *ours > 0.0)
        .map(|ours| peer.seconds / ours)
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let median = duration(Some(self.median_s));
        match self.times {
            Some(times) if times >= 9.95 => f.pad(&format!("{median} (x{times:.0})")),
            Some(times) => f.pad(&format!("{median} (x{times:.1})")),
            None => f.pad(&median),
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{:<44}", self.engine)?;
        for size in &self.sizes {
            write!(f, "{size:>20}")?;
        }
        writeln!(f)?;
        for (name, cells) in &self.lines {
            write!(f, "{name:<44}")?;
            for cell in cells {
                match cell {
                    Some(cell) => write!(f, "{cell:>20}")?,
                    None => write!(f, "{:>20}", "-")?,
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::row::On;

    fn row(name: &str, size: u64, cpu: f64) -> Row {
        let on = On {
            driver: "embedded".to_owned(),
            policy: "uncached",
            durability: "relaxed",
        };
        let mut row = Row::new("clixon", name, on, size);
        (row.median_s, row.cpu_s) = (Some(2.0 * cpu), Some(cpu));
        row
    }

    #[test]
    fn processor_time_is_compared_with_processor_time() {
        let peer = |name: &str| Peer {
            name: name.to_owned(),
            seconds: 0.1,
            source: String::new(),
        };
        let mut rows = [
            row("one", 10, 1e-3),
            row("one", 100, 1e-3),
            row("two", 100, 1e-3),
        ];
        rows[0].peer = vec![peer("another, cpu"), peer("another, wall")];
        rows[1].peer = vec![peer("another, wall")];
        let layouts = Layout::of(&rows);
        assert_eq!(layouts.len(), 1);
        let layout = &layouts[0];
        assert_eq!(
            (layout.engine.as_str(), layout.sizes.as_slice()),
            ("embedded relaxed", [10, 100].as_slice())
        );
        let text = layout.to_string();
        let lines: Vec<_> = text.lines().skip(2).map(str::split_whitespace).collect();
        let lines: Vec<Vec<_>> = lines.into_iter().map(Iterator::collect).collect();
        assert_eq!(
            lines[0],
            ["one", "2.00", "ms", "(x100)", "2.00", "ms", "(x50)"]
        );
        assert_eq!(lines[1], ["two", "-", "2.00", "ms"]);
    }
}
