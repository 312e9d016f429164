//! A store with a YANG model of the bench.

use std::sync::Arc;

use espalier_keyspace::Operation;
use espalier_store::{
    Commit, CommitOptions, Datastore, Edit, LoadMode, LoadOptions, LoadReport, Selection, Store,
    Subspace, SystemClock, Tree,
};
use espalier_yang::data::{DataTree, ParseOptions, Root, TreeBuilder};
use espalier_yang::schema::{ModuleSource, SchemaSource};
use espalier_yang::validate::ValidationCost;
use espalier_yang::{InstancePath, Value};

use super::configuration::{Configuration, RawClient, StoreLocation};
use super::generated_document::GeneratedDocument;
use super::harness::{Repetitions, Timing, measure};
use super::raw::Contents;
use super::recorder::{Recorder, Trace};
use super::row::Row;
use espalier_terminal::Result;
use espalier_terminal::document::{self, Format};
use espalier_terminal::path;
use espalier_terminal::single_node::tree_of;

/// The name of the dataspace, the schema set and the first anchor.
pub const NAME: &str = "bench";

/// A model of the bench.
#[derive(Clone, Copy)]
pub struct Model {
    /// The name of the module.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

impl Model {
    /// The source of its schema.
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

/// An open store of a model.
pub struct ModelStore {
    /// The data.
    pub tree: Tree,
    /// The configuration of the store.
    pub configuration: Configuration,
    /// Records the reads and writes that reach the engine.
    recorder: Arc<Recorder>,
    location: StoreLocation,
}

/// A store that is closed.
pub struct ClosedStore {
    configuration: Configuration,
    location: StoreLocation,
}

impl ClosedStore {
    /// The URL of the engine, without a policy.
    pub fn url(&self) -> &str {
        self.location.url()
    }

    /// Reopens the store.
    pub fn open(mut self) -> Result<ModelStore> {
        let (recorder, driver) = self.location.open()?;
        let store = Store::open(driver, Arc::new(SystemClock))?;
        Ok(ModelStore {
            tree: store.tree(NAME, NAME, Datastore::Running)?,
            configuration: self.configuration,
            recorder,
            location: self.location,
        })
    }
}

impl ModelStore {
    /// Creates a new, empty store.
    pub fn open(configuration: &Configuration, model: Model) -> Result<Self> {
        let mut location = configuration.location()?;
        let (recorder, driver) = location.open()?;
        let store = Store::open(driver, Arc::new(SystemClock))?;
        store.create_dataspace(NAME)?;
        store.create_schema_set(NAME, NAME, &model.source())?;
        store.create_anchor(NAME, NAME, NAME)?;
        let tree = store.tree(NAME, NAME, Datastore::Running)?;
        Ok(Self {
            tree,
            configuration: configuration.clone(),
            recorder,
            location,
        })
    }

    /// Closes the store. A store in memory loses its data.
    pub fn close(self) -> ClosedStore {
        let Self {
            configuration,
            mut location,
            ..
        } = self;
        location.close();
        ClosedStore {
            configuration,
            location,
        }
    }

    /// A row of this store, without measurements.
    pub fn row(&self, suite: &'static str, name: &str, size: u64) -> Row {
        Row::new(suite, name, self.configuration.labels(), size)
    }

    /// Parses a path.
    pub fn path(&self, text: &str) -> Result<InstancePath> {
        path::parse(self.tree.schema(), text)
    }

    /// An edit that sets a leaf and creates its missing ancestors.
    pub fn set(&self, path: &str, value: &str) -> Result<Edit> {
        let schema = self.tree.schema();
        let path = path::parse(schema, path)?;
        let tree = tree_of(schema, &path, Some(value))?;
        Ok(Edit::merge(InstancePath::root(), tree))
    }

    /// Parses a document into a tree in memory.
    pub fn document(&self, mut document: GeneratedDocument<'_>) -> Result<DataTree> {
        let mut builder = TreeBuilder::new();
        let options = ParseOptions::default();
        document::parse(
            Format::Json,
            self.tree.schema(),
            Root::Datastore,
            &mut document,
            &mut builder,
            &options,
        )
        .map_err(|error| document::parse_failure(error, "the bench's own"))?;
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

    /// Loads a document into the store, which must be empty.
    pub fn load(&self, document: GeneratedDocument<'_>) -> Result<LoadReport> {
        Self::load_into(&self.tree, document)
    }

    /// Loads a document into a tree, which must be empty.
    pub fn load_into(tree: &Tree, mut document: GeneratedDocument<'_>) -> Result<LoadReport> {
        let options = LoadOptions {
            mode: LoadMode::Create,
            author: NAME,
            ..LoadOptions::default()
        };
        let schema = Arc::clone(tree.schema());
        Ok(tree.load(options, &mut |sink| {
            let options = ParseOptions::default();
            document::parse(
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

    /// Reads the node at a path with its ancestors and descendants; empty if it does not exist.
    pub fn read(&self, path: &InstancePath) -> Result<DataTree> {
        let mut builder = TreeBuilder::new();
        let selection = Selection::default();
        let view = self.tree.view_for_read(path, &selection)?;
        view.read(path, &selection, &mut builder)?;
        Ok(builder.finish()?)
    }

    /// The value of a leaf.
    pub fn leaf(&self, path: &InstancePath) -> Result<Option<Value>> {
        let read = self.read(path)?;
        let node = read.nodes.first();
        Ok(node.and_then(|node| node.value().cloned()))
    }

    /// The number of entries of a list.
    pub fn count(&self, path: &str) -> Result<u64> {
        Ok(self.tree.view()?.count(&self.path(path)?)?)
    }

    /// The cost of all validation so far.
    pub fn validation_cost(&self) -> ValidationCost {
        self.tree.store().validation_effort()
    }

    /// The engine's own client with a copy of the current content; none for memory.
    pub fn raw_copy(&self) -> Result<Option<RawClient>> {
        self.location.raw_copy(&*self.recorder)
    }

    /// Measures the engine's own client writing the whole content of the engine; none for memory.
    pub fn raw_load(&self) -> Result<Option<Timing>> {
        let Some(raw) = self.location.raw_client()? else {
            return Ok(None);
        };
        let contents = Contents::of(&*self.recorder)?;
        let timing = measure(
            Repetitions::once(),
            |_| raw.engine.load(&contents),
            |_, ()| Ok(()),
        )?;
        Ok(Some(timing))
    }

    /// Runs an operation and returns the reads and writes that reached the engine.
    pub fn record(&self, operation: impl FnOnce() -> Result<()>) -> Result<Trace> {
        self.recorder.record(operation)
    }
}

impl RawClient {
    /// Measures the client writing one key of each trace only, which is the least that a commit can be.
    pub fn single_write(&self, traces: &[Trace]) -> Result<Timing> {
        let puts = traces.iter().enumerate();
        let puts: Vec<_> = puts.map(|(call, trace)| one_put(call, trace)).collect();
        self.replay(&puts)
    }

    /// Measures the client replaying traces, one after the other.
    pub fn replay(&self, traces: &[Trace]) -> Result<Timing> {
        let plan = Repetitions {
            warm_up: 0,
            ..Repetitions::many(traces.len() as u64)
        };
        measure(
            plan,
            |call| self.engine.replay(&traces[call as usize]),
            |_, _| Ok(()),
        )
    }
}

/// A trace that puts one key: the first key of data that a trace puts or deletes, otherwise the first key that it
/// writes. The value differs in each call, as a client may skip the disk if nothing changes.
fn one_put(call: usize, trace: &Trace) -> Trace {
    let tree = Subspace::Tree as u8;
    let put = |operation: &Operation| match operation {
        Operation::Put { key, value } => Some((key.clone(), value.clone())),
        Operation::Delete { key } => Some((key.clone(), Vec::new())),
        _ => None,
    };
    let puts = || trace.commits.iter().flatten().filter_map(put);
    let data = puts().find(|(key, _)| key.first() == Some(&tree));
    let put = data.or_else(|| puts().next()).map(|(key, mut value)| {
        value.extend_from_slice(&call.to_be_bytes());
        Operation::Put { key, value }
    });
    Trace {
        reads: Vec::new(),
        commits: vec![put.into_iter().collect()],
    }
}
