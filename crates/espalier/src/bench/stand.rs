//! An open store with a model of the bench, and where stores are made.

use std::path::Path;
use std::sync::Arc;

use espalier_keyspace::Driver;
use espalier_store::{
    Commit, CommitOptions, Datastore, Edit, LoadMode, LoadOptions, LoadReport, Selection, Store,
    SystemClock, Tree,
};
use espalier_yang::data::{DataTree, ParseOptions, Root, TreeBuilder};
use espalier_yang::schema::{ModuleSource, SchemaSource};
use espalier_yang::validate::Effort;
use espalier_yang::{InstancePath, Value};
use tempfile::TempDir;

use super::harness::{Plan, Timing, measure};
use super::pieces::Pieces;
use super::raw::{Contents, Flush, RawEngine};
use super::recorder::{Recorder, Trace};
use super::row::{On, Row};
use crate::commands::tree_of;
use crate::documents::{self, Format};
use crate::error::{Failure, Result};
use crate::paths;

const NAME: &str = "bench";

/// When commits are on disk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// When they return.
    Durable,
    /// When the system writes them.
    Relaxed,
    /// Never: memory.
    None,
}

impl Durability {
    /// As in rows, and in the URL of a store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Durable => "durable",
            Self::Relaxed => "relaxed",
            Self::None => "none",
        }
    }
}

/// A model of the bench.
#[derive(Clone, Copy)]
pub struct Model {
    /// The module.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

impl Model {
    /// What its schema is compiled from.
    pub fn source(self) -> SchemaSource {
        SchemaSource {
            modules: vec![ModuleSource {
                name: self.name.to_owned(),
                revision: None,
                text: self.text.to_owned(),
            }],
            ..SchemaSource::default()
        }
    }
}

/// A folder below the one where stores are made; removed when dropped.
pub fn new_folder(below: &Path) -> Result<TempDir> {
    tempfile::Builder::new()
        .prefix("espalier-bench-")
        .tempdir_in(below)
        .map_err(|error| {
            Failure::usage(format!("no store can be made: {error}")).in_file(below.display())
        })
}

/// An open store of a model, empty at first.
pub struct Stand {
    /// The data.
    pub tree: Tree,
    /// When commits are on disk.
    pub durability: Durability,
    /// Notes what is asked of the driver.
    recorder: Arc<Recorder>,
    folder: Option<TempDir>,
}

/// The raw engine and its folder.
pub struct Raw {
    /// The engine.
    pub engine: RawEngine,
    _folder: TempDir,
}

impl Stand {
    /// A new store, in a new folder below the one given; in memory where none is.
    pub fn open(below: Option<&Path>, durability: Durability, model: Model) -> Result<Self> {
        let folder = below.map(new_folder).transpose()?;
        let (url, durability) = match &folder {
            Some(folder) => {
                let (folder, durability) = (folder.path().display(), durability);
                let url = format!("embedded:{folder}?durability={}", durability.as_str());
                (url, durability)
            }
            None => ("memory:".to_owned(), Durability::None),
        };
        let recorder = Arc::new(Recorder::new(espalier_drivers::open(&url)?));
        let driver = Arc::clone(&recorder) as Arc<dyn Driver>;
        let store = Store::open(driver, Arc::new(SystemClock))?;
        store.create_dataspace(NAME)?;
        store.create_schema_set(NAME, NAME, &model.source())?;
        store.create_anchor(NAME, NAME, NAME)?;
        let tree = store.tree(NAME, NAME, Datastore::Running)?;
        Ok(Self {
            tree,
            durability,
            recorder,
            folder,
        })
    }

    /// A row about this store, with nothing measured yet.
    pub fn row(&self, suite: &'static str, name: &str, size: u64) -> Row {
        let on = On {
            driver: self.tree.store().driver().name().to_owned(),
            policy: match self.durability {
                Durability::None => "ram",
                _ => "uncached",
            },
            durability: self.durability.as_str(),
        };
        Row::new(suite, name, on, size)
    }

    /// A path.
    pub fn path(&self, text: &str) -> Result<InstancePath> {
        paths::parse(self.tree.schema(), text)
    }

    /// The edit that sets a leaf, and creates what is above it.
    pub fn set(&self, path: &str, value: &str) -> Result<Edit> {
        let schema = self.tree.schema();
        let path = paths::parse(schema, path)?;
        let tree = tree_of(schema, &path, Some(value))?;
        Ok(Edit::merge(InstancePath::root(), tree))
    }

    /// A document as a tree in memory.
    pub fn document(&self, mut document: Pieces<'_>) -> Result<DataTree> {
        let mut builder = TreeBuilder::new();
        let options = ParseOptions::default();
        documents::parse(
            Format::Json,
            self.tree.schema(),
            Root::Datastore,
            &mut document,
            &mut builder,
            &options,
        )
        .map_err(|error| documents::parse_failure(error, "the bench's own"))?;
        Ok(builder.finish()?)
    }

    /// Commits edits.
    pub fn commit(&self, edits: &[Edit]) -> Result<Commit> {
        let options = CommitOptions {
            author: NAME,
            ..CommitOptions::default()
        };
        Ok(self.tree.commit(edits, options)?)
    }

    /// Loads a document into the empty store.
    pub fn load(&self, mut document: Pieces<'_>) -> Result<LoadReport> {
        let options = LoadOptions {
            mode: LoadMode::Create,
            author: NAME,
            ..LoadOptions::default()
        };
        let schema = Arc::clone(self.tree.schema());
        Ok(self.tree.load(options, &mut |sink| {
            let options = ParseOptions::default();
            documents::parse(
                Format::Json,
                &schema,
                Root::Datastore,
                &mut document,
                sink,
                &options,
            )?;
            Ok(())
        })?)
    }

    /// What is at a path and below, with what is above; nothing where nothing is there.
    pub fn read(&self, path: &InstancePath) -> Result<DataTree> {
        let mut builder = TreeBuilder::new();
        let selection = Selection::default();
        self.tree.view()?.read(path, &selection, &mut builder)?;
        Ok(builder.finish()?)
    }

    /// The value of a leaf.
    pub fn leaf(&self, path: &InstancePath) -> Result<Option<Value>> {
        let read = self.read(path)?;
        let node = read.nodes.first();
        Ok(node.and_then(|node| node.value().cloned()))
    }

    /// How many entries a list has.
    pub fn count(&self, path: &str) -> Result<u64> {
        Ok(self.tree.view()?.count(&self.path(path)?)?)
    }

    /// How much validation has looked at so far.
    pub fn effort(&self) -> Effort {
        self.tree.store().validation_effort()
    }

    /// The raw engine with what the store holds now; none for memory.
    pub fn raw_copy(&self) -> Result<Option<Raw>> {
        let raw = self.raw_empty()?;
        if let Some(raw) = &raw {
            raw.engine.load(&self.contents()?)?;
        }
        Ok(raw)
    }

    /// The raw engine, putting all that the store holds in one transaction; none for memory.
    pub fn raw_load(&self) -> Result<Option<Timing>> {
        let contents = self.contents()?;
        let Some(raw) = self.raw_empty()? else {
            return Ok(None);
        };
        let timing = measure(Plan::once(), |_| raw.engine.load(&contents), |_, ()| Ok(()))?;
        Ok(Some(timing))
    }

    fn contents(&self) -> Result<Contents> {
        Contents::of(&**self.tree.store().driver())
    }

    fn raw_empty(&self) -> Result<Option<Raw>> {
        let Some(folder) = &self.folder else {
            return Ok(None);
        };
        let folder = tempfile::tempdir_in(folder.path())?;
        let flush = match self.durability {
            Durability::Durable => Flush::EachCommit,
            _ => Flush::Later,
        };
        let engine = RawEngine::create(folder.path(), flush)?;
        Ok(Some(Raw {
            engine,
            _folder: folder,
        }))
    }

    /// What an operation asks of the driver.
    pub fn traced(&self, operation: impl FnOnce() -> Result<()>) -> Result<Trace> {
        self.recorder.start();
        let result = operation();
        let trace = self.recorder.stop();
        result?;
        Ok(trace)
    }
}

impl Raw {
    /// The engine doing what some operations asked of the driver, one after the other.
    pub fn replay(&self, traces: &[Trace]) -> Result<Timing> {
        let plan = Plan {
            warm_up: 0,
            ..Plan::many(traces.len() as u64)
        };
        measure(
            plan,
            |call| self.engine.replay(&traces[call as usize]),
            |_, _| Ok(()),
        )
    }
}
