//! Rows of the cases: measuring a commit of everything, and changes of one entry.

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

/// What users of other systems report.
static FIGURES: LazyLock<Figures> =
    LazyLock::new(|| Figures::embedded(include_str!("../../data/figures/field.toml")));

/// The suite's name in rows.
const SUITE: &str = "field";

/// Changes of one entry that are made of each kind, at most.
pub const CHANGES_MAX: u64 = 2_400;

/// One change in so many is kept for the raw engine.
const CHANGES_PER_TRACE: usize = 10;

/// Takes rows, and remembers those of one entry.
pub struct Report<'a> {
    configuration: &'a Configuration,
    output: &'a mut Output,
    /// Name, size and median.
    measured: Vec<(String, u64, f64)>,
}

/// A change of one entry, and how it shows.
pub struct Change {
    /// What is asked for.
    pub edits: Vec<Edit>,
    /// A leaf.
    pub leaf: InstancePath,
    /// What it holds afterwards; none where it is gone.
    pub value: Option<String>,
}

impl Change {
    /// Setting a leaf.
    pub fn set(store: &ModelStore, path: &str, value: &str) -> Result<Self> {
        Ok(Self {
            edits: vec![store.set(path, value)?],
            leaf: store.path(path)?,
            value: Some(value.to_owned()),
        })
    }

    /// Fails unless the leaf holds what it must.
    pub fn check(&self, store: &ModelStore) -> Result<()> {
        let found = store.leaf(&self.leaf)?.map(|value| value.to_string());
        expect(found == self.value, || {
            let path = self.leaf.to_instance_identifier(store.tree.schema());
            format!("{path} holds {found:?} instead of {:?}", self.value)
        })
    }
}

impl<'a> Report<'a> {
    /// No rows yet.
    pub fn new(configuration: &'a Configuration, output: &'a mut Output) -> Self {
        Self {
            configuration,
            output,
            measured: Vec::new(),
        }
    }

    /// A new store of a model.
    pub fn store(&self, model: Model) -> Result<ModelStore> {
        ModelStore::open(self.configuration, model)
    }

    /// A row with nothing measured yet.
    pub fn row(&self, store: &ModelStore, name: &str, size: u64) -> Row {
        let peers = FIGURES.peers("", name, size);
        store.row(SUITE, name, size).peers(peers)
    }

    /// Takes a row.
    pub fn emit(&mut self, row: &Row) -> Result<()> {
        self.output.row(row)
    }

    /// Takes a row of work on one entry: how it grew from the size before is noted.
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

    /// Measures the commit of a document, merged into what is there.
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

    /// Measures the load of a document into the empty store.
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

    /// Measures changes of one entry, each a commit.
    pub fn changes(&mut self, store: &ModelStore, row: Row, changes: &[Change]) -> Result<()> {
        let row = self.changed(store, row, changes)?;
        self.emit_one(row)
    }

    /// The row of changes of one entry.
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

/// Adds what the raw engine takes for the same reads and writes, and for one put alone.
fn with_raw_figures(row: Row, timing: &Timing, raw: &RawClient, traces: &[Trace]) -> Result<Row> {
    let put = raw.single_write(traces)?.median_s;
    let replayed = raw.replay(traces)?;
    let reads = traces.first().map_or(0, |trace| trace.reads.len());
    let writes = traces
        .first()
        .map_or(0, |trace| trace.commits.iter().map(Vec::len).sum());
    let row = row.raw(Some(&replayed)).note(format!(
        "asks the engine for {reads} reads and {writes} writes, as raw does"
    ));
    Ok(row.note(format!(
        "one write of the raw engine alone takes {:.1} us, so x{:.2}",
        put * 1e6,
        timing.median_s / put
    )))
}

/// How much was validated, in a commit on average.
pub fn validation_note(before: ValidationCost, after: ValidationCost, commits: u64) -> String {
    let checks = (after.checks - before.checks) as f64 / commits.max(1) as f64;
    let fallbacks = after.fallbacks - before.fallbacks;
    format!("{checks:.1} checks a commit, {fallbacks} fallbacks in {commits} commits")
}
