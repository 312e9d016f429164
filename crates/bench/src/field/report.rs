//! Measures rows of the cases: a commit of a whole document, and changes of one entry.

use std::sync::LazyLock;

use espalier_store::Edit;
use espalier_yang::InstancePath;
use espalier_yang::validate::ValidationCost;

use crate::configuration::{Configuration, RawClient};
use crate::dataset::expect;
use crate::figures::Figures;
use crate::generated_document::GeneratedDocument;
use crate::harness::{Repetitions, Timing, measure};
use crate::model_store::{Model, ModelStore};
use crate::output::Output;
use crate::recorder::Trace;
use crate::row::Row;
use espalier_terminal::Result;

/// The figures that users of other systems report.
static FIGURES: LazyLock<Figures> =
    LazyLock::new(|| Figures::embedded(include_str!("../../data/figures/field.toml")));

/// The suite's name in rows.
const SUITE: &str = "field";

/// The largest number of changes of one entry in a row.
pub const CHANGES_MAX: u64 = 2_400;

/// One of this many changes is replayed on the raw engine.
const CHANGES_PER_TRACE: usize = 10;

/// Emits rows. Keeps the medians of rows on one entry, to compute their growth.
pub struct Report<'a> {
    configuration: &'a Configuration,
    output: &'a mut Output,
    /// Name, size and median of the rows on one entry.
    measured: Vec<(String, u64, f64)>,
}

/// A change of one entry, and the leaf that shows it.
pub struct Change {
    /// The edits.
    pub edits: Vec<Edit>,
    /// The leaf to check afterwards.
    pub leaf: InstancePath,
    /// The expected value of the leaf afterwards; `None` if it must not exist.
    pub value: Option<String>,
}

impl Change {
    /// A change that sets a leaf.
    pub fn set(store: &ModelStore, path: &str, value: &str) -> Result<Self> {
        Ok(Self {
            edits: vec![store.set(path, value)?],
            leaf: store.path(path)?,
            value: Some(value.to_owned()),
        })
    }

    /// Fails unless the leaf has the expected value.
    pub fn check(&self, store: &ModelStore) -> Result<()> {
        let found = store.leaf(&self.leaf)?.map(|value| value.to_string());
        expect(found == self.value, || {
            let path = self.leaf.to_instance_identifier(store.tree.schema());
            format!("{path} holds {found:?} instead of {:?}", self.value)
        })
    }
}

impl<'a> Report<'a> {
    /// Creates a report without rows.
    pub fn new(configuration: &'a Configuration, output: &'a mut Output) -> Self {
        Self {
            configuration,
            output,
            measured: Vec::new(),
        }
    }

    /// Opens a new store of a model.
    pub fn store(&self, model: Model) -> Result<ModelStore> {
        ModelStore::open(self.configuration, model)
    }

    /// A row without measurements, with the figures of other systems.
    pub fn row(&self, store: &ModelStore, name: &str, size: u64) -> Row {
        let peers = FIGURES.peers("", name, size);
        store.row(SUITE, name, size).peers(peers)
    }

    /// Emits a row.
    pub fn emit(&mut self, row: &Row) -> Result<()> {
        self.output.add_row(row)
    }

    /// Emits a row on one entry, with its growth since the previous size.
    pub fn emit_one(&mut self, mut row: Row) -> Result<()> {
        let before = self
            .measured
            .iter()
            .rev()
            .find(|measured| measured.0 == row.row);
        if let (Some((_, size, median)), Some(now)) = (before, row.median_s) {
            row = row.note(format!("x{:.2} from size {size}", now / median));
        }
        if let Some(median) = row.median_s {
            self.measured.push((row.row.clone(), row.size, median));
        }
        self.emit(&row)
    }

    /// Measures the commit of a document that is merged into the store.
    pub fn commit_document(
        &mut self,
        store: &ModelStore,
        row: Row,
        document: GeneratedDocument<'_>,
    ) -> Result<Row> {
        let tree = store.document(document)?;
        let edits = [Edit::merge(InstancePath::root(), tree)];
        let before = store.validation_cost();
        let timing = measure(
            Repetitions::once(),
            |_| store.commit(&edits),
            |_, commit| expect(commit.is_changed, || "nothing was committed".to_owned()),
        )?;
        let raw = store.raw_load()?;
        let row = row.timed(&timing).raw(raw.as_ref());
        Ok(row.note(validation_note(before, store.validation_cost(), 1)))
    }

    /// Measures loading a document into the empty store.
    pub fn load_document(
        &mut self,
        store: &ModelStore,
        row: Row,
        document: GeneratedDocument<'_>,
    ) -> Result<Row> {
        let mut document = Some(document);
        let timing = measure(
            Repetitions::once(),
            |_| document.take().map(|text| store.load(text)).transpose(),
            |_, report| {
                let is_changed = report.is_some_and(|report| report.commit.is_changed);
                expect(is_changed, || "nothing was loaded".to_owned())
            },
        )?;
        let raw = store.raw_load()?;
        Ok(row.timed(&timing).raw(raw.as_ref()))
    }

    /// Measures changes of one entry, one commit each, and emits the row.
    pub fn changes(&mut self, store: &ModelStore, row: Row, changes: &[Change]) -> Result<()> {
        let row = self.changed(store, row, changes)?;
        self.emit_one(row)
    }

    /// Measures changes of one entry, one commit each.
    pub fn changed(&self, store: &ModelStore, row: Row, changes: &[Change]) -> Result<Row> {
        let traced = (changes.len() / CHANGES_PER_TRACE)
            .max(1)
            .min(changes.len() - 1);
        let (timed, traced) = changes.split_at(changes.len() - traced);
        let warm_up = (timed.len() / 10) as u64;
        let plan = Repetitions {
            warm_up,
            ..Repetitions::many(timed.len() as u64 - warm_up)
        };
        let before = store.validation_cost();
        let mut commits = 0;
        let timing = measure(
            plan,
            |call| store.commit(&timed[call as usize].edits),
            |call, commit| {
                commits += 1;
                expect(commit.is_changed, || format!("commit {call} did nothing"))?;
                timed[call as usize].check(store)
            },
        )?;
        let note = validation_note(before, store.validation_cost(), commits);
        let row = row.timed(&timing).note(note);
        let Some(raw) = store.raw_copy()? else {
            return Ok(row);
        };
        let traces = traced
            .iter()
            .map(|change| store.record(|| store.commit(&change.edits).map(drop)))
            .collect::<Result<Vec<_>>>()?;
        with_raw_figures(row, &timing, &raw, &traces)
    }
}

/// Adds the time of the raw engine for the same reads and writes, and for a single write.
fn with_raw_figures(row: Row, timing: &Timing, raw: &RawClient, traces: &[Trace]) -> Result<Row> {
    let put = raw.single_write(traces)?.median_s;
    let replayed = raw.replay(traces)?;
    let reads = traces.first().map_or(0, |trace| trace.reads.len());
    let writes = traces
        .first()
        .map_or(0, |trace| trace.commits.iter().map(Vec::len).sum());
    let row = row.raw(Some(&replayed)).note(format!(
        "{reads} reads and {writes} writes of the engine, as in raw"
    ));
    Ok(row.note(format!(
        "x{:.2} of a single raw write, which takes {:.1} us",
        timing.median_s / put,
        put * 1e6
    )))
}

/// A note on the validation of some commits: the average number of checks, and the number of fallbacks.
pub fn validation_note(before: ValidationCost, after: ValidationCost, commits: u64) -> String {
    let checks = (after.checks - before.checks) as f64 / commits.max(1) as f64;
    let fallbacks = after.fallbacks - before.fallbacks;
    format!("{checks:.1} checks per commit, {fallbacks} fallbacks in {commits} commits")
}
