//! Figures of other systems, from the files in `data/figures`.

use std::collections::HashMap;

use serde::Deserialize;

use crate::row::Peer;

/// The size key of a figure that is valid for every size.
const ANY_SIZE: &str = "any";

/// The figures of one file.
#[derive(Debug, Default, Deserialize)]
pub struct Figures {
    sources: HashMap<String, String>,
    figures: Vec<PeerFigures>,
}

/// The figures of one system for some rows.
#[derive(Debug, Deserialize)]
struct PeerFigures {
    /// The system, and the quantity that was measured.
    peer: String,
    /// A key of the file's sources.
    source: String,
    unit: Unit,
    /// The figures are for `size` calls together, not for one.
    #[serde(default)]
    per_call: bool,
    /// The engines or policies that the figures apply to; empty for all.
    #[serde(default)]
    cases: Vec<String>,
    rows: HashMap<String, HashMap<String, Figure>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
enum Unit {
    #[serde(rename = "s")]
    Second,
    #[serde(rename = "ms")]
    Millisecond,
    #[serde(rename = "us")]
    Microsecond,
}

/// One figure, or the parts of a sum.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Figure {
    Single(f64),
    Sum(Vec<f64>),
}

impl Figures {
    /// Parses the figures of a file embedded in this crate.
    pub fn embedded(text: &str) -> Self {
        // A test parses every file.
        toml::from_str(text).unwrap_or_default()
    }

    /// The figures for a row at a size, in the order of the file. `case` is an engine or a policy.
    pub fn peers(&self, case: &str, row: &str, size: u64) -> Vec<Peer> {
        let columns = self
            .figures
            .iter()
            .filter(|peer_figures| peer_figures.is_for(case));
        let peer = |peer_figures: &PeerFigures| {
            Some(Peer {
                name: peer_figures.peer.clone(),
                seconds: peer_figures.seconds(row, size)?,
                source: self.sources.get(&peer_figures.source)?.clone(),
            })
        };
        columns.filter_map(peer).collect()
    }

    /// The seconds of one system for a row at a size.
    pub fn seconds(&self, peer: &str, case: &str, row: &str, size: u64) -> Option<f64> {
        let mut columns = self.figures.iter();
        columns
            .find(|peer_figures| peer_figures.peer == peer && peer_figures.is_for(case))?
            .seconds(row, size)
    }
}

impl PeerFigures {
    fn is_for(&self, case: &str) -> bool {
        self.cases.is_empty() || self.cases.iter().any(|one| one == case)
    }

    fn seconds(&self, row: &str, size: u64) -> Option<f64> {
        let sizes = self.rows.get(row)?;
        let figure = sizes
            .get(&size.to_string())
            .or_else(|| sizes.get(ANY_SIZE))?;
        let seconds = figure.sum() * self.unit.seconds();
        Some(match self.per_call {
            true => seconds / size as f64,
            false => seconds,
        })
    }
}

impl Figure {
    fn sum(&self) -> f64 {
        match self {
            Self::Single(figure) => *figure,
            Self::Sum(parts) => parts.iter().sum(),
        }
    }
}

impl Unit {
    fn seconds(self) -> f64 {
        match self {
            Self::Second => 1.0,
            Self::Millisecond => 1e-3,
            Self::Microsecond => 1e-6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(text: &str) -> Figures {
        let figures: Figures = toml::from_str(text).expect("figures");
        for peer_figures in &figures.figures {
            assert!(
                figures.sources.contains_key(&peer_figures.source),
                "{peer_figures:?}"
            );
            assert!(!peer_figures.rows.is_empty(), "{peer_figures:?}");
            let sizes = peer_figures.rows.values().flat_map(HashMap::keys);
            for size in sizes {
                assert!(size == ANY_SIZE || size.parse::<u64>().is_ok(), "{size}");
            }
        }
        figures
    }

    fn named(figures: &Figures, case: &str, row: &str, size: u64) -> Vec<(String, f64)> {
        let peers = figures.peers(case, row, size).into_iter();
        peers
            .map(|peer| (peer.name, (peer.seconds * 1e9).round() / 1e9))
            .collect()
    }

    fn one(name: &str, seconds: f64) -> (String, f64) {
        (name.to_owned(), seconds)
    }

    #[test]
    fn clixon() {
        let figures = figures(include_str!("../data/figures/clixon.toml"));
        let named = |row, size| named(&figures, "", row, size);
        assert_eq!(
            named("commit N", 100_000),
            [
                one("Clixon backend, cpu", 0.937),
                one("Clixon, wall", 1.103)
            ]
        );
        assert_eq!(
            named("GET all", 100),
            [one("Clixon, cpu", 0.002_82), one("Clixon, wall", 0.0039)]
        );
        assert_eq!(named("write 1, new value", 1_000).len(), 4);
        assert_eq!(
            named("read 1, beside commits", 10_000),
            [one("Clixon, wall", 0.456)]
        );
        assert!(named("commit N", 101).is_empty() && named("nothing", 100).is_empty());
    }

    #[test]
    fn cps() {
        let figures = figures(include_str!("../data/figures/cps.toml"));
        let named = |row, size| named(&figures, "", row, size);
        assert_eq!(
            named("Writing books", 1_600),
            [one("CPS, expected", 0.8), one("CPS, measured", 1.905)]
        );
        assert_eq!(named("Delete 100 containers", 300).len(), 2);
        assert!(named("Delete 100 containers", 1_000).is_empty());
        assert!(named("Delete nothing", 300).is_empty());
    }

    #[test]
    fn sysrepo() {
        let figures = figures(include_str!("../data/figures/sysrepo.toml"));
        assert_eq!(
            named(&figures, "JSON DS file", "get tree", 1_000),
            [
                one("sysrepo, cpu", 0.003_226),
                one("sysrepo, wall", 0.003_225),
                one("sysrepo, JSON DS file", 0.001_854)
            ]
        );
        let redis = named(&figures, "REDIS DS", "create batch", 100_000);
        assert_eq!(redis[0].0, "sysrepo, REDIS DS");
        assert!(named(&figures, "REDIS DS", "create batch", 99).is_empty());
        let seconds = |row, size| figures.seconds("sysrepo, cpu", "", row, size);
        assert_eq!(seconds("modify an item", 100_000), Some(0.5482));
        assert_eq!(seconds("modify an item", 100_001), None);
        assert_eq!(seconds("modify nothing", 100_000), None);
    }

    #[test]
    fn field() {
        let figures = figures(include_str!("../data/figures/field.toml"));
        let named = |row, size| named(&figures, "", row, size);
        assert_eq!(named("one-leaf commit", 100_000).len(), 2);
        assert_eq!(
            named("a: commit all references", 40_000),
            [one("Clixon", 1_260.0)]
        );
    }

    #[test]
    fn dodb() {
        let figures = figures(include_str!("../data/figures/dodb.toml"));
        let named = |case, row, size| named(&figures, case, row, size);
        assert_eq!(
            named("indexed", "partition", 5_000),
            [one("DODB", 0.0996), one("files", 0.04)]
        );
        assert_eq!(named("cached", "add", 7), [one("files", 0.000_04)]);
        assert!(named("ram", "add", 50_000).is_empty());
        assert_eq!(
            named("cached", "get by index", 50_000),
            [one("files", 0.000_000_55)]
        );
    }

    #[test]
    fn trifle() {
        let figures = figures(include_str!("../data/figures/trifle.toml"));
        for engine in ["Redis", "Postgres", "Mongo", "Process", "SQLite"] {
            for payload in ["1 value", "5 values", "5 nested values", "23 values"] {
                let row = format!("TRACK, {payload}");
                for calls in [100, 1_000] {
                    let found = figures.peers(engine, &row, calls);
                    let of_table = |peer: &&Peer| peer.name.ends_with("published");
                    assert_eq!(
                        found.iter().filter(of_table).count(),
                        1,
                        "{engine} {row} {calls}"
                    );
                }
            }
        }
        let measured = |row| named(&figures, "SQLite", row, 10).first().cloned();
        let sqlite = "Trifle::Stats on SQLite, measured";
        assert_eq!(measured("TRACK, 23 values"), Some(one(sqlite, 0.0023)));
        assert_eq!(measured("BEAM, 23 values"), None);
    }
}
