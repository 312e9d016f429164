//! The test fixture: a schema, its judge, and a store with a tree of it.

use std::sync::Arc;

use espalier_keyspace::{Batch, Capability, Driver, KeyRange};
use espalier_store::{
    CommitOptions, Datastore, Error, LoadMode, LoadOptions, LoadReport, Selection, Store, Subspace,
    SystemClock, Tree,
};
pub use espalier_testkit::documents::json_document as parse;
use espalier_testkit::fault::Faulty;
use espalier_testkit::oracle::judge::{Judge, Problem};
use espalier_testkit::random_schemas::{self, Conditions, GeneratedSchema};
use espalier_testkit::rows::rows;
use espalier_yang::data::{DataTree, PrintOptions, TreeBuilder, json};
use espalier_yang::schema::{ModuleSource, SchemaSource};
use espalier_yang::validate::ValidationPlan;
use espalier_yang::{InstancePath, Schema, Sink};
use rand::rngs::StdRng;

/// If libyang rejects this many schemas in a row, the generator is broken.
const REFUSALS_MAX: usize = 200;

/// A store with an empty tree of a random schema.
pub struct Fixture {
    /// The source of the modules, if they are random.
    pub generated: Option<GeneratedSchema>,
    pub source: SchemaSource,
    pub judge: Judge,
    pub tree: Tree,
    pub schema: Arc<Schema>,
    pub plan: ValidationPlan,
}

/// The numbers of generated schemas.
#[derive(Debug, Default)]
pub struct Tries {
    pub refused: u64,
    pub accepted: u64,
    pub last_refusal: Option<Problem>,
}

impl Fixture {
    /// The first random schema that libyang accepts.
    pub fn random(random: &mut StdRng, tries: &mut Tries) -> Self {
        for _ in 0..REFUSALS_MAX {
            match Self::of(random_schemas::schema(random)) {
                Ok(fixture) => {
                    tries.accepted += 1;
                    return fixture;
                }
                Err(problem) => {
                    tries.refused += 1;
                    tries.last_refusal = Some(problem);
                }
            }
        }
        panic!("no schema that libyang accepts: {:?}", tries.last_refusal);
    }

    /// A schema; on failure, libyang's reason to reject it.
    pub fn of(generated: GeneratedSchema) -> Result<Self, Problem> {
        let source = generated.source(Conditions::Written);
        let unconditional = generated.source(Conditions::LeftOut);
        let mut fixture = Self::compile(source, &unconditional)?;
        fixture.generated = Some(generated);
        Ok(fixture)
    }

    /// A module from its body; on failure, libyang's reason to reject it. Each `when` must be on one line.
    pub fn written(body: &str) -> Result<Self, Problem> {
        Self::of_modules(&[&format!(
            "module m {{ yang-version 1.1; namespace urn:m; prefix m; {body} }}"
        )])
    }

    /// Modules from their texts, each after its imports; on failure, libyang's reason to reject them. Each
    /// `when` must be on one line.
    pub fn of_modules(texts: &[&str]) -> Result<Self, Problem> {
        let unconditional: Vec<String> = texts.iter().map(|text| without_whens(text)).collect();
        let unconditional = unconditional.iter().map(String::as_str);
        Self::compile(sources(texts.iter().copied()), &sources(unconditional))
    }

    fn compile(source: SchemaSource, unconditional: &SchemaSource) -> Result<Self, Problem> {
        let judge = Judge::new(&source, unconditional)?;
        let tree = open(&source);
        let schema = Arc::clone(tree.schema());
        let plan = ValidationPlan::compile(&schema);
        Ok(Self {
            generated: None,
            source,
            judge,
            tree,
            schema,
            plan,
        })
    }

    /// The modules as text.
    pub fn text(&self) -> String {
        let texts = self
            .source
            .modules
            .iter()
            .map(|module| module.text.as_str());
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// Modules from their texts.
pub fn sources<'t>(texts: impl IntoIterator<Item = &'t str>) -> SchemaSource {
    SchemaSource {
        modules: texts
            .into_iter()
            .filter_map(ModuleSource::from_text)
            .collect(),
        ..SchemaSource::default()
    }
}

fn without_whens(text: &str) -> String {
    let mut unconditional = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("when \"") {
        unconditional.push_str(before);
        rest = after.split_once("\";").expect("the end of a when").1;
    }
    unconditional.push_str(rest);
    unconditional
}

/// One in this many schemas is read from its stored form.
const SOURCES_PER_STORED: usize = 4;

/// An empty tree of a schema, in memory. A fixed fraction of schemas is compiled by one store and read from
/// the stored form by another one.
pub fn open(source: &SchemaSource) -> Tree {
    let driver = espalier_drivers::open("memory:").unwrap();
    let bytes = source.modules.iter().flat_map(|module| module.text.bytes());
    if bytes.map(usize::from).sum::<usize>() % SOURCES_PER_STORED != 0 {
        return open_tree(&create(driver, source));
    }
    let durable = Capability {
        durable: true,
        ..driver.capability()
    };
    let driver: Arc<dyn Driver> = Arc::new(Faulty::new(driver).with_capability(durable));
    drop(create(Arc::clone(&driver), &enlarged(source)));
    // Without the texts of the modules nothing can be compiled. Older versions need them later.
    let texts = KeyRange::prefix(&[Subspace::Catalog as u8, 3]);
    let (mut without, mut again) = (Batch::new(), Batch::new());
    for (key, text) in rows(&*driver, &texts) {
        again.put(key, text);
    }
    without.delete_range(texts);
    driver.commit(without).unwrap();
    let tree = open_tree(&Store::open(Arc::clone(&driver), Arc::new(SystemClock)).unwrap());
    driver.commit(again).unwrap();
    tree
}

fn create(driver: Arc<dyn Driver>, source: &SchemaSource) -> Store {
    let store = Store::open(driver, Arc::new(SystemClock)).unwrap();
    store.create_dataspace("d").unwrap();
    let created = store.create_schema_set("d", "s", source);
    created.unwrap_or_else(|error| panic!("{error}"));
    store.create_anchor("d", "a", "s").unwrap();
    store
}

fn open_tree(store: &Store) -> Tree {
    store.tree("d", "a", Datastore::Running).unwrap()
}

/// Adds a notification with so many leaves that the schema is stored in compiled form.
fn enlarged(source: &SchemaSource) -> SchemaSource {
    let leaves = (0..1000).map(|leaf| format!("leaf l{leaf} {{ type empty; }} "));
    let leaves: String = leaves.collect();
    let text = format!(
        "module large {{ yang-version 1.1; namespace urn:large; prefix large; notification n {{ {leaves} }} }}"
    );
    let mut source = source.clone();
    source.modules.extend(ModuleSource::from_text(text));
    if !source.implement.is_empty() {
        source.implement.push("large".to_owned());
    }
    source
}

pub fn commit(
    tree: &Tree,
    edits: &[espalier_store::Edit],
) -> Result<espalier_store::Commit, Error> {
    tree.commit(edits, CommitOptions::default())
}

/// Replaces the datastore with a document, as a stream.
pub fn load(tree: &Tree, document: &DataTree) -> Result<LoadReport, Error> {
    let options = LoadOptions {
        mode: LoadMode::Replace,
        ..LoadOptions::default()
    };
    tree.load(options, &mut |sink: &mut dyn Sink| {
        document.emit(sink).map_err(|_| Error::Stopped)
    })
}

/// A datastore of the same anchor that is not validated.
pub fn unvalidated(tree: &Tree) -> Tree {
    tree.sibling_datastore(Datastore::Startup, "").unwrap()
}

/// The whole datastore.
pub fn read_all(tree: &Tree) -> DataTree {
    let mut builder = TreeBuilder::new();
    let view = tree.view().unwrap();
    view.read(&InstancePath::root(), &Selection::default(), &mut builder)
        .unwrap();
    builder.finish().unwrap()
}

/// A tree as JSON.
pub fn show(schema: &Schema, tree: &DataTree) -> String {
    let mut tree = tree.clone();
    tree.normalise(schema);
    let mut printer = json::Printer::new(schema, Vec::new(), PrintOptions::default());
    let _ = tree.emit(&mut printer);
    String::from_utf8(printer.finish().unwrap()).unwrap()
}
