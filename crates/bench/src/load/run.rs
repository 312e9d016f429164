//! Runs the workloads, each against a server process of its configuration.

use std::time::Duration;

use espalier_store::{Edit, Tree};

use super::clients::{self, Outcome, Period};
use super::grouped;
use super::measured::Kind;
use super::server_process::ServerProcess;
use super::trend::Trend;
use super::workload::{Choice, Workload, anchor_name};
use crate::configuration::Configuration;
use crate::dataset::expect;
use crate::engine::Engine;
use crate::field::{HOSTS_MODEL, host_leaf, hosts_document};
use crate::model_store::{ClosedStore, ModelStore, NAME};
use crate::output::Output;
use crate::row::Row;
use espalier_terminal::{Failure, Result};

const SUITE: &str = "load";

/// The time before each measurement.
const WARM_UP: Duration = Duration::from_secs(1);

/// The first new value of a leaf: greater than all that were loaded.
const VALUE_MIN: u64 = 1_000_000_000;

/// The parameters of the suite: all combinations are measured.
pub struct Load {
    /// Numbers of clients.
    pub clients: Vec<u64>,
    /// Percentages of requests that write.
    pub writes: Vec<u64>,
    /// How clients choose entries.
    pub choices: Vec<Choice>,
    /// Numbers of anchors.
    pub trees: Vec<u64>,
    /// The time of each measurement in seconds.
    pub seconds: u64,
    /// Numbers of entries.
    pub sizes: Vec<u64>,
    /// The engines with their policies; memory is skipped, because the server is another process.
    pub configurations: Vec<Configuration>,
}

impl Load {
    fn workloads(&self, size: u64) -> Vec<Workload> {
        let mut workloads = Vec::new();
        for &trees in &self.trees {
            for &choice in &self.choices {
                for &writes in &self.writes {
                    workloads.extend(self.clients.iter().map(|&clients| Workload {
                        clients,
                        writes,
                        choice,
                        trees,
                        size,
                    }));
                }
            }
        }
        workloads
    }
}

/// Runs the suite. Fails at the first wrong response, if an acknowledged write is lost, and if a long run drifts.
pub fn run(load: &Load, output: &mut Output) -> Result<()> {
    let is_served = |configuration: &&Configuration| configuration.engine != Engine::Memory;
    let configurations: Vec<_> = load.configurations.iter().filter(is_served).collect();
    if configurations.is_empty() {
        return Err(Failure::usage(
            "load measures a server process, which cannot open a store in the memory of the bench",
        ));
    }
    for &size in &load.sizes {
        for configuration in &configurations {
            ServedStore::new(load, configuration, size)?.run(load, output)?;
        }
    }
    Ok(())
}

/// A store for the server process.
struct ServedStore<'a> {
    configuration: &'a Configuration,
    size: u64,
    trees: u64,
    store: ClosedStore,
    /// The sum of the versions of all trees.
    versions: u64,
}

impl<'a> ServedStore<'a> {
    fn new(load: &Load, configuration: &'a Configuration, size: u64) -> Result<Self> {
        let trees = load.trees.iter().copied().max().unwrap_or(1);
        let store = ModelStore::open(configuration, HOSTS_MODEL)?;
        for tree in 0..trees {
            if tree > 0 {
                let anchor = anchor_name(tree);
                store.tree.store().create_anchor(NAME, &anchor, NAME)?;
            }
            ModelStore::load_into(&tree_of(&store, tree)?, hosts_document(size))?;
        }
        let versions = versions(&store, trees)?;
        Ok(Self {
            configuration,
            size,
            trees,
            versions,
            store: store.close(),
        })
    }

    fn run(mut self, load: &Load, output: &mut Output) -> Result<()> {
        let url = self.configuration.with_policy(self.store.url());
        let server = ServerProcess::start(&url)?;
        let mut value = VALUE_MIN;
        for workload in load.workloads(self.size) {
            let period = Period {
                warm_up: WARM_UP,
                measured: Duration::from_secs(load.seconds),
            };
            let outcome = clients::run(workload, &server, period, value)?;
            value = outcome.next_value;
            self.versions += outcome.written;
            self.add_rows(workload, period.measured, &outcome, output)?;
        }
        // A server that is killed loses nothing that it acknowledged.
        drop(server);
        let (size, trees, versions) = (self.size, self.trees, self.versions);
        let store = self.store.open()?;
        let found = self::versions(&store, trees)?;
        expect(found == versions, || {
            format!("the trees have {found} versions in all, but {versions} were acknowledged")
        })?;
        if load.writes.iter().any(|&writes| writes > 0) {
            for &clients in &load.clients {
                add_grouped_row(&store, size, clients, &mut value, output)?;
            }
        }
        Ok(())
    }

    /// Adds a row for each kind of request.
    fn add_rows(
        &self,
        workload: Workload,
        period: Duration,
        outcome: &Outcome,
        output: &mut Output,
    ) -> Result<()> {
        let trend = Trend::of(&outcome.measured.seconds, &outcome.memory);
        let (reads, writes) = ((Kind::Read, ", reads"), (Kind::Write, ", writes"));
        let kinds = match workload.writes {
            0 => vec![(Kind::Read, "")],
            100 => vec![(Kind::Write, "")],
            _ => vec![reads, writes],
        };
        for (kind, name) in kinds {
            let (labels, name) = (self.configuration.labels(), format!("{workload}{name}"));
            let row = Row::new(SUITE, name, labels, self.size);
            let row = row.timed(&outcome.measured.timing(kind, outcome.cpu)?);
            let row = row.note(note(kind, period, outcome));
            let trend = trend.as_ref().map(Trend::text);
            output.add_row(&row.note(trend.unwrap_or_default()))?;
        }
        trend.as_ref().map_or(Ok(()), Trend::check)
    }
}

fn note(kind: Kind, period: Duration, outcome: &Outcome) -> String {
    let measured = &outcome.measured;
    let rejected = match measured.rejected {
        0 => String::new(),
        count => format!("; {count} rejected with 503"),
    };
    format!(
        "{:.0} requests/s in all; p99.9 {:.2} ms; {:.0} us of processor time of the server each{rejected}",
        measured.rate(period),
        measured.quantile(kind, 0.999) * 1e3,
        outcome.cpu.as_secs_f64() / measured.requests() as f64 * 1e6,
    )
}

fn tree_of(store: &ModelStore, tree: u64) -> Result<Tree> {
    let datastore = store.tree.datastore();
    Ok(store
        .tree
        .store()
        .tree(NAME, &anchor_name(tree), datastore)?)
}

/// The sum of the versions of trees.
fn versions(store: &ModelStore, trees: u64) -> Result<u64> {
    (0..trees).try_fold(0, |sum, tree| {
        Ok(sum + tree_of(store, tree)?.view()?.version()?)
    })
}

/// The same writes in groups, by the engine's own client.
fn add_grouped_row(
    store: &ModelStore,
    size: u64,
    members: u64,
    value: &mut u64,
    output: &mut Output,
) -> Result<()> {
    let timing = grouped::measure(store, members, || {
        *value += 1;
        let edit: Edit = store.set(&host_leaf(*value % size, "address"), &value.to_string())?;
        store.commit(&[edit]).map(drop)
    })?;
    let Some(timing) = timing else {
        return Ok(());
    };
    let name = format!("the engine's own client, groups of {members}");
    let row = store.row(SUITE, &name, size).timed(&timing);
    let rate = members as f64 / timing.median_s;
    output.add_row(&row.note(format!("a group; {rate:.0} writes/s")))
}
