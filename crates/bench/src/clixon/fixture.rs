//! The fixture: a store with the list of one size.

use std::sync::LazyLock;

use espalier_store::{CommitOptions, Datastore, Edit, Selection, Tree};
use espalier_yang::InstancePath;
use espalier_yang::data::PrintOptions;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::configuration::Configuration;
use crate::dataset::expect;
use crate::engine::Durability;
use crate::figures::Figures;
use crate::generated_document::GeneratedDocument;
use crate::harness::Repetitions;
use crate::model_store::{ClosedStore, Model, ModelStore};
use crate::row::Row;
use espalier_terminal::Result;
use espalier_terminal::document::{self, Format, Found};

/// The figures of Clixon.
static FIGURES: LazyLock<Figures> =
    LazyLock::new(|| Figures::embedded(include_str!("../../data/figures/clixon.toml")));

/// The suite's name in rows.
pub const SUITE: &str = "clixon";

/// The model.
pub const MODEL: Model = Model {
    name: "espalier-bench-large-list",
    text: include_str!("../models/espalier-bench-large-list.yang"),
};

/// The begin of the names of rows over NETCONF.
pub const OVER_NETCONF: &str = "NETCONF, ";

/// The container with the list.
pub const ALL: &str = "/espalier-bench-large-list:x";

/// The list.
pub const LIST: &str = "/espalier-bench-large-list:x/y";

/// The seed: every run chooses the same entries.
const SEED: u64 = 0x636c_6978_6f6e;

/// The number of entries chosen at random.
const CHOSEN: usize = 4_096;

/// The number of entries changed or deleted at once.
const MANY: u64 = 100;

/// A store with the list of one size.
pub struct Fixture {
    /// The running datastore.
    pub store: ModelStore,
    /// The candidate datastore.
    pub candidate: Tree,
    /// The number of entries.
    pub size: u64,
    chosen: Vec<u64>,
}

/// The name and the note of a row.
#[derive(Clone, Copy)]
pub struct RowSpec {
    /// Its name.
    pub row: &'static str,
    /// The description of the operation.
    pub note: &'static str,
}

impl Fixture {
    /// Opens a new, empty store.
    pub fn open(configuration: &Configuration, size: u64) -> Result<Self> {
        let store = ModelStore::open(configuration, MODEL)?;
        let mut random = StdRng::seed_from_u64(SEED);
        Ok(Self {
            candidate: store.tree.sibling_datastore(Datastore::Candidate, "")?,
            store,
            size,
            chosen: (0..CHOSEN).map(|_| random.random_range(0..size)).collect(),
        })
    }

    /// The repetitions of an operation on one entry.
    pub fn one_entry_repetitions(&self) -> Repetitions {
        match self.store.configuration.durability {
            Durability::Durable => Repetitions::many(50),
            _ => Repetitions::many(1_000.min(20 * self.size)),
        }
    }

    /// The repetitions of an operation on all entries.
    pub fn all_entries_repetitions(&self) -> Repetitions {
        Repetitions::few(5)
    }

    /// The entry of a call.
    pub fn entry(&self, call: u64) -> u64 {
        self.chosen[call as usize % CHOSEN]
    }

    /// The entries of a call on several.
    pub fn entries(&self, call: u64) -> impl Iterator<Item = u64> + use<> {
        let (first, size) = (self.entry(call), self.size);
        (0..MANY.min(size)).map(move |n| (first + n) % size)
    }

    /// A document with every entry, with a text computed from its number.
    pub fn document(&self, text: impl Fn(u64) -> String) -> String {
        let entries = (0..self.size).map(|n| format!(r#"{{"a":{n},"b":"{}"}}"#, text(n)));
        let entries: Vec<_> = entries.collect();
        let entries = entries.join(",");
        format!(r#"{{"{}:x":{{"y":[{entries}]}}}}"#, MODEL.name)
    }

    /// The initial document.
    pub fn first_document(&self) -> String {
        self.document(|n| n.to_string())
    }

    /// Replaces the content of a datastore by a document.
    pub fn put(&self, tree: &Tree, document: &str) -> Result<()> {
        let parsed = GeneratedDocument::new(std::iter::once(document.to_owned()));
        let edit = Edit::replace(InstancePath::root(), self.store.document(parsed)?);
        commit(tree, &[edit])
    }

    /// Fills running with every entry.
    pub fn fill(&self) -> Result<()> {
        self.put(&self.store.tree, &self.first_document())
    }

    /// Empties running.
    pub fn empty(&self) -> Result<()> {
        commit(&self.store.tree, &[Edit::remove(self.store.path(ALL)?)])
    }

    /// An edit that sets the text of an entry, from the text of its path.
    pub fn set(&self, entry: u64, text: &str) -> Result<Edit> {
        self.store.set(&format!("{}/b", path_of(entry)), text)
    }

    /// An edit that deletes an entry, from the text of its path.
    pub fn delete(&self, entry: u64) -> Result<Edit> {
        Ok(Edit::delete(self.store.path(&path_of(entry))?))
    }

    /// Fails unless an entry has a text.
    pub fn expect_text(&self, tree: &Tree, entry: u64, text: &str) -> Result<()> {
        let path = self.store.path(&path_of(entry))?;
        let found = xml(tree, &path, &Selection::default())?;
        expect_entry(&found, entry, text)
    }

    /// Fails if an entry exists.
    pub fn expect_gone(&self, tree: &Tree, entry: u64) -> Result<()> {
        let is_there = tree.view()?.exists(&self.store.path(&path_of(entry))?)?;
        expect(!is_there, || format!("{entry} is still there"))
    }

    /// Fails unless a datastore has the expected number of entries.
    pub fn expect_count(&self, tree: &Tree, expected: u64) -> Result<()> {
        let found = tree.view()?.count(&self.store.path(LIST)?)?;
        expect(found == expected, || format!("{found} entries"))
    }

    /// Discards the changes of the candidate.
    pub fn discard(&self) -> Result<()> {
        Ok(self.candidate.discard(CommitOptions::default())?)
    }

    /// Measures a row; see [`ModelStore::measured`].
    pub fn measure<T>(
        &self,
        spec: RowSpec,
        plan: Repetitions,
        operation: impl FnMut(u64) -> Result<T>,
        check: impl FnMut(u64, T) -> Result<()>,
    ) -> Result<Row> {
        let row = self.row(spec);
        self.store.measured(row, plan, operation, check)
    }

    /// A row without measurements, with Clixon's figures.
    pub fn row(&self, spec: RowSpec) -> Row {
        let row = self.store.row(SUITE, spec.row, self.size);
        // Clixon has no library: the rows through ours have the same figures as those over NETCONF.
        let figure = spec.row.strip_prefix(OVER_NETCONF).unwrap_or(spec.row);
        row.note(spec.note)
            .peers(FIGURES.peers("", figure, self.size))
    }

    /// Closes the store.
    pub fn close(self) -> ClosedStore {
        // The candidate also references the store.
        drop(self.candidate);
        self.store.close()
    }
}

/// The path of an entry, as text.
pub fn path_of(entry: u64) -> String {
    format!("{LIST}[a='{entry}']")
}

/// Commits to a datastore.
pub fn commit(tree: &Tree, edits: &[Edit]) -> Result<()> {
    let commit = tree.commit(edits, CommitOptions::default())?;
    expect(commit.is_changed, || "a commit changed nothing".to_owned())
}

/// The node at a path with its descendants, as XML.
pub fn xml(tree: &Tree, path: &InstancePath, selection: &Selection) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let (schema, options) = (tree.schema(), PrintOptions::default());
    let found = document::print(Format::Xml, schema, options, &mut out, |sink| {
        let view = tree.view_for_read(path, selection)?;
        Ok(Found::from_store(view.read(path, selection, sink)?))
    })?;
    expect(found == Found::Something, || "nothing is there".to_owned())?;
    Ok(out)
}

/// Fails unless an XML text is that of one entry.
pub fn expect_entry(xml: &[u8], entry: u64, text: &str) -> Result<()> {
    let xml = String::from_utf8_lossy(xml);
    let expected = format!("<a>{entry}</a><b>{text}</b>");
    expect(
        xml.contains(&expected) && xml.matches("<a>").count() == 1,
        || format!("entry {entry} is {xml}"),
    )
}
