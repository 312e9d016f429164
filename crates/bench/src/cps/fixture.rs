//! The fixture: an open store.

use std::sync::LazyLock;

use espalier_store::{Edit, Tree};
use espalier_yang::InstancePath;

use super::devices::{FRAGMENTS, SUCCESS, document};
use crate::configuration::{Configuration, RawClient};
use crate::dataset::expect;
use crate::figures::Figures;
use crate::generated_document::GeneratedDocument;
use crate::harness::Repetitions;
use crate::model_store::{Model, ModelStore};
use crate::row::Row;
use espalier_terminal::Result;

/// The figures of CPS.
static FIGURES: LazyLock<Figures> =
    LazyLock::new(|| Figures::embedded(include_str!("../../data/figures/cps.toml")));

/// The suite's name in rows.
pub const SUITE: &str = "cps";

/// The number of devices up to which rows on all of them are repeated.
const REPEATED_MAX: u64 = 1_000;

/// Opens a new, empty store of a model.
pub fn open(configuration: &Configuration, model: Model, size: u64) -> Result<Fixture> {
    Ok(Fixture {
        store: ModelStore::open(configuration, model)?,
        size,
        raw: None,
    })
}

/// An open store.
pub struct Fixture {
    /// The running datastore of the first anchor.
    pub store: ModelStore,
    /// The number of devices or books.
    pub size: u64,
    /// The raw engine for rows that only read.
    raw: Option<RawClient>,
}

/// The name and the note of a row.
#[derive(Clone, Copy)]
pub struct RowSpec {
    /// The title.
    pub row: &'static str,
    /// The description of the operation.
    pub note: &'static str,
}

impl Fixture {
    /// The repetitions of an operation on all data.
    pub fn all_entries_repetitions(&self) -> Repetitions {
        match self.size <= REPEATED_MAX {
            true => Repetitions::few(3),
            false => Repetitions::once(),
        }
    }

    /// The repetitions of an operation on one node, or on none.
    pub fn one_entry_repetitions(&self) -> Repetitions {
        Repetitions::many(200)
    }

    /// Loads this fixture's devices into a tree of the store.
    pub fn load(&self, tree: &Tree) -> Result<()> {
        let loaded = ModelStore::load_into(tree, document(0..self.size, SUCCESS))?;
        let expected = 1 + self.size * FRAGMENTS;
        expect(loaded.fragments == expected, || {
            format!("{} fragments were loaded", loaded.fragments)
        })
    }

    /// Copies the current content of the store to a raw client, for rows that only read.
    pub fn attach_raw_client(&mut self) -> Result<()> {
        self.raw = self.store.raw_copy()?;
        Ok(())
    }

    /// A row without measurements, with CPS' figures.
    pub fn row(&self, spec: RowSpec) -> Row {
        let row = self.store.row(SUITE, spec.row, self.size);
        row.note(spec.note)
            .peers(FIGURES.peers("", spec.row, self.size))
    }

    /// Measures a row that only reads.
    pub fn measure_read<T>(
        &self,
        spec: RowSpec,
        plan: Repetitions,
        mut operation: impl FnMut() -> Result<T>,
        mut check: impl FnMut(T) -> Result<()>,
    ) -> Result<Row> {
        let (raw, row) = (self.raw.as_ref(), self.row(spec));
        let check = |_: u64, answer| check(answer);
        self.store
            .measured_with_raw(raw, row, plan, |_| operation(), check)
    }

    /// Measures a row that writes; see [`ModelStore::measured`].
    pub fn measure_write<T>(
        &self,
        spec: RowSpec,
        operation: impl FnMut(u64) -> Result<T>,
        check: impl FnMut(u64, T) -> Result<()>,
    ) -> Result<Row> {
        let row = self.row(spec);
        self.store
            .measured(row, self.all_entries_repetitions(), operation, check)
    }

    /// An edit that merges a document.
    pub fn parsed(&self, document: GeneratedDocument<'_>) -> Result<Edit> {
        let tree = self.store.document(document)?;
        Ok(Edit::merge(InstancePath::root(), tree))
    }
}
