//! Test fixtures: stores, schemas and documents.

use std::sync::Arc;

use espalier_keyspace::Driver;
use espalier_store::{
    CommitOptions, Datastore, Edit, Error, LoadMode, LoadOptions, LoadReport, PageNames,
    PageParameters, Selection, Store, SystemClock, Tree, View,
};
use espalier_testkit::documents::json_document_with;
use espalier_yang::data::{
    Annotation, Annotations, DataTree, Mark, MetadataMode, ParseOptions, PrintOptions, Root, Stop,
    TreeBuilder, json,
};
use espalier_yang::schema::{ModuleSource, SchemaSource};
use espalier_yang::{ErrorTag, InstancePath, NodeId, Schema, Sink, Value};

pub const MODEL: &str = include_str!("../model/model.yang");
pub const SORTED: &str = include_str!("../model/sorted.yang");

pub fn source(text: &str) -> SchemaSource {
    SchemaSource {
        modules: vec![ModuleSource::from_text(text).expect("a module")],
        ..SchemaSource::default()
    }
}

pub fn open_store(driver: Arc<dyn Driver>) -> Store {
    Store::open(driver, Arc::new(SystemClock)).expect("a store")
}

/// A store with an anchor `a` of a model, created if it does not exist.
pub fn open_tree(driver: Arc<dyn Driver>, model: &str) -> Tree {
    let store = open_store(driver);
    if store.dataspaces().unwrap().is_empty() {
        store.create_dataspace("d").unwrap();
        store
            .create_schema_set("d", "s", &source(model))
            .unwrap_or_else(|error| panic!("{error}"));
        store.create_anchor("d", "a", "s").unwrap();
    }
    store.tree("d", "a", Datastore::Running).unwrap()
}

pub fn memory_tree(model: &str) -> Tree {
    open_tree(espalier_drivers::open("memory:").unwrap(), model)
}

/// A document of the datastore, with its metadata.
pub fn data(schema: &Schema, text: &str) -> DataTree {
    let options = ParseOptions {
        metadata: MetadataMode::Kept,
        ..ParseOptions::default()
    };
    json_document_with(schema, text, &options)
}

pub fn path(schema: &Schema, text: &str) -> InstancePath {
    InstancePath::parse_cli_path(schema, text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub fn merge(tree: &Tree, text: &str) -> espalier_store::Commit {
    let edit = Edit::merge(InstancePath::root(), data(tree.schema(), text));
    tree.commit(&[edit], CommitOptions::default()).unwrap()
}

pub fn commit(tree: &Tree, edits: &[Edit]) -> Result<espalier_store::Commit, Error> {
    tree.commit(edits, CommitOptions::default())
}

/// The result of a read, as a tree; `None` if the target does not exist.
pub fn read(view: &View, path: &InstancePath, selection: &Selection) -> Option<DataTree> {
    let mut builder = TreeBuilder::new();
    let is_there = view.read(path, selection, &mut builder).unwrap();
    let tree = builder.finish().unwrap();
    assert!(is_there || tree.nodes.is_empty());
    is_there.then_some(tree)
}

/// A page of entries.
#[derive(Clone, Debug)]
pub struct Page {
    pub offset: u64,
    pub limit: u64,
}

/// The result of a read of a page, or of everything without one; nothing for an offset beyond the last entry.
pub fn read_page(
    view: &View,
    path: &InstancePath,
    selection: &Selection,
    page: Option<&Page>,
) -> Option<DataTree> {
    let Some(page) = page else {
        return read(view, path, selection);
    };
    let mut parameters = PageParameters::default();
    let values = [("offset", page.offset), ("limit", page.limit)];
    for (name, value) in values {
        parameters.set(name, &value.to_string()).unwrap();
    }
    let request = parameters.request(view.schema(), path, &PageNames::Modules);
    let request = request.unwrap().expect("a page");
    let mut builder = TreeBuilder::new();
    match view.read_page(path, &request, selection, &mut Unannotated(&mut builder)) {
        Ok(_) => builder.finish().ok().filter(|tree| !tree.nodes.is_empty()),
        Err(error) => {
            assert!(
                format!("{error:?}").contains("offset-out-of-range"),
                "{error:?}"
            );
            None
        }
    }
}

/// Leaves out the metadata of pages.
struct Unannotated<'a>(&'a mut TreeBuilder);

impl Sink for Unannotated<'_> {
    fn open(&mut self, node: NodeId, mark: Mark) -> Result<(), Stop> {
        self.0.open(node, mark)
    }

    fn leaf(&mut self, node: NodeId, value: Value, mark: Mark) -> Result<(), Stop> {
        self.0.leaf(node, value, mark)
    }

    fn any(&mut self, node: NodeId, json: &str, mark: Mark) -> Result<(), Stop> {
        self.0.any(node, json, mark)
    }

    fn close(&mut self, mark: Mark) -> Result<(), Stop> {
        self.0.close(mark)
    }

    fn annotate(&mut self, mut annotations: Annotations) -> Result<(), Stop> {
        annotations.retain(|one| !matches!(one, Annotation::Other(..)));
        match annotations.is_empty() {
            true => Ok(()),
            false => self.0.annotate(annotations),
        }
    }
}

pub fn read_all(tree: &Tree) -> DataTree {
    read(
        &tree.view().unwrap(),
        &InstancePath::root(),
        &Selection::default(),
    )
    .unwrap()
}

pub fn show(schema: &Schema, tree: &DataTree) -> String {
    let mut tree = tree.clone();
    tree.normalise(schema);
    let mut printer = json::Printer::new(schema, Vec::new(), PrintOptions::default());
    let _ = tree.emit(&mut printer);
    String::from_utf8(printer.finish().unwrap()).unwrap()
}

/// The whole datastore as JSON.
pub fn text(tree: &Tree) -> String {
    show(tree.schema(), &read_all(tree))
}

pub fn load_json(tree: &Tree, mode: LoadMode, text: &str) -> Result<LoadReport, Error> {
    let options = LoadOptions {
        mode,
        ..LoadOptions::default()
    };
    tree.load(options, &mut |sink| {
        let options = ParseOptions::default();
        json::parse(
            tree.schema(),
            Root::Datastore,
            text.as_bytes(),
            sink,
            &options,
        )
        .map_err(Error::from)
    })
}

/// Loads a tree as it is, in its order of events.
pub fn load_tree(tree: &Tree, mode: LoadMode, data: &DataTree) -> Result<LoadReport, Error> {
    let options = LoadOptions {
        mode,
        ..LoadOptions::default()
    };
    tree.load(options, &mut |sink: &mut dyn Sink| {
        data.emit(sink).map_err(|_| Error::Stopped)
    })
}

/// The tag of the first error in data.
pub fn first_tag<T: std::fmt::Debug>(result: &Result<T, Error>) -> Option<ErrorTag> {
    match result {
        Ok(_) => None,
        Err(Error::Data(errors)) => errors.iter().next().map(|error| error.tag),
        Err(error) => panic!("{error}"),
    }
}

pub fn assert_same(schema: &Schema, found: &DataTree, expected: &DataTree, what: &str) {
    assert!(
        found.is_equivalent(expected, schema),
        "{what}\nfound    {}\nexpected {}",
        show(schema, found),
        show(schema, expected)
    );
}

pub fn assert_sound(store: &Store) {
    assert_eq!(store.check(&mut |_| {}).unwrap(), []);
}
