//! Stores with a list, and pages of it.

use std::sync::Arc;

use espalier_keyspace::Driver;
use espalier_store::{
    CommitOptions, Datastore, Edit, Error, Filter, FilterExpression, PageInfo, PageNames,
    PageParameters, PageRequest, Selection, Store, SystemClock, Tree, View,
};
use espalier_testkit::documents::json_document;
use espalier_yang::data::{PrintOptions, json};
use espalier_yang::schema::{ModuleSource, SchemaSource};
use espalier_yang::{InstancePath, Schema};
use serde_json::Value as Json;

/// An anchor of a model: its running and its operational datastore.
pub struct Fixture {
    pub running: Tree,
    pub operational: Tree,
}

impl Fixture {
    pub fn new(driver: Arc<dyn Driver>, model: &str) -> Self {
        let store = Store::open(driver, Arc::new(SystemClock)).expect("a store");
        let source = SchemaSource {
            modules: vec![ModuleSource::from_text(model).expect("a module")],
            ..SchemaSource::default()
        };
        store.create_dataspace("d").expect("a dataspace");
        let created = store.create_schema_set("d", "s", &source);
        created.unwrap_or_else(|error| panic!("{model}: {error}"));
        store.create_anchor("d", "a", "s").expect("an anchor");
        let tree = |datastore| store.tree("d", "a", datastore).expect("a tree");
        Self {
            running: tree(Datastore::Running),
            operational: tree(Datastore::Operational),
        }
    }

    pub fn in_memory(model: &str) -> Self {
        Self::new(espalier_drivers::open("memory:").expect("a driver"), model)
    }

    pub fn schema(&self) -> &Arc<Schema> {
        self.running.schema()
    }

    pub fn path(&self, text: &str) -> InstancePath {
        let path = InstancePath::parse_cli_path(self.schema(), text);
        path.unwrap_or_else(|error| panic!("{text}: {error}"))
    }
}

pub fn merge(tree: &Tree, text: &str) {
    let edit = Edit::merge(InstancePath::root(), json_document(tree.schema(), text));
    let committed = tree.commit(&[edit], CommitOptions::default());
    committed.unwrap_or_else(|error| panic!("{text}: {error}"));
}

/// Parameters as pairs.
pub fn parameters(pairs: &[(&str, &str)]) -> PageParameters {
    let mut parameters = PageParameters::default();
    for (name, value) in pairs {
        parameters.set(name, value).expect("a parameter");
    }
    parameters
}

pub fn request(schema: &Schema, path: &InstancePath, pairs: &[(&str, &str)]) -> PageRequest {
    let request = parameters(pairs).request(schema, path, &PageNames::Modules);
    let request = request.unwrap_or_else(|error| panic!("{pairs:?}: {error}"));
    request.expect("parameters of the target")
}

/// A page that was read.
#[derive(Debug, PartialEq)]
pub struct Page {
    /// The entries, without metadata.
    pub entries: Vec<Json>,
    pub info: PageInfo,
}

/// The app-tag of an error.
pub fn app_tag(error: &Error) -> String {
    match error {
        Error::Data(errors) => {
            let first = errors.iter().next().expect("an error");
            first.app_tag.clone().unwrap_or_default().into_owned()
        }
        other => panic!("{other}"),
    }
}

/// A page of a list or leaf-list, whose name in JSON is `name`.
pub fn page(
    view: &View,
    (path, name): (&InstancePath, &str),
    pairs: &[(&str, &str)],
) -> Result<Page, Error> {
    let request = request(view.schema(), path, pairs);
    let mut printer = json::Printer::new(view.schema(), Vec::new(), PrintOptions::default());
    let selection = Selection::default();
    let info = view.read_page(path, &request, &selection, &mut printer)?;
    let text = printer.finish().expect("a document");
    let mut document: Json = serde_json::from_slice(&text).expect("JSON");
    let page = page_of(&mut document, name, info.expect("a list"));
    Ok(page)
}

/// The same page by a filter of the list.
pub fn filtered_page(
    view: &View,
    (path, name): (&InstancePath, &str),
    pairs: &[(&str, &str)],
) -> Result<Page, Error> {
    let schema = view.schema();
    let text = path.to_instance_identifier(schema);
    let filter = FilterExpression::parse(schema, &text, &|_| None).expect("a filter");
    let filter = Filter::XPath(filter);
    assert_eq!(
        filter.paged_list(schema).unwrap().as_ref(),
        Some(path),
        "{text}"
    );
    let request = request(schema, path, pairs);
    let mut printer = json::Printer::new(schema, Vec::new(), PrintOptions::default());
    let selection = Selection::default();
    let info = view.read_filtered_page(&filter, &request, &selection, &mut printer)?;
    let text = printer.finish().expect("a document");
    let mut document: Json = serde_json::from_slice(&text).expect("JSON");
    for step in &path.steps[..path.steps.len() - 1] {
        let node = schema.node(step.node);
        // A page without entries has no ancestors.
        let Some(members) = document.as_object_mut() else {
            break;
        };
        let key = members
            .keys()
            .find(|key| key.ends_with(&*node.name))
            .cloned();
        document = key.and_then(|key| members.remove(&key)).unwrap_or_default();
        if document.is_array() {
            assert_eq!(document.as_array().map(Vec::len), Some(1), "one ancestor");
            document = document[0].take();
        }
    }
    Ok(page_of(&mut document, name, info))
}

fn page_of(document: &mut Json, name: &str, info: PageInfo) -> Page {
    let mut entries = match document.get_mut(name).map(Json::take) {
        Some(Json::Array(entries)) => entries,
        None => Vec::new(),
        other => panic!("{other:?}"),
    };
    let of_values = document
        .get(format!("@{name}"))
        .map(|values| values[0].clone());
    let of_entry = entries.first_mut().and_then(Json::as_object_mut);
    let metadata = of_values.or(of_entry.and_then(|entry| entry.remove("@")));
    assert!(
        entries.iter().all(|entry| entry.get("@").is_none()),
        "on the first entry only"
    );
    assert_eq!(
        metadata.unwrap_or_default(),
        metadata_of(&info, entries.is_empty())
    );
    Page { entries, info }
}

/// The metadata of the first entry.
fn metadata_of(info: &PageInfo, is_empty: bool) -> Json {
    use espalier_store::Remaining;
    let mut members = serde_json::Map::new();
    let mut add = |name: &str, value: Option<Json>| {
        if let Some(value) = value {
            members.insert(format!("ietf-list-pagination:{name}"), value);
        }
    };
    add(
        "remaining",
        info.remaining.map(|remaining| match remaining {
            Remaining::Known(count) => count.into(),
            Remaining::Unknown => "unknown".into(),
        }),
    );
    add("next", info.next.clone().map(Json::from));
    add("previous", info.previous.clone().map(Json::from));
    add("locale", info.locale.map(Json::from));
    match members.is_empty() || is_empty {
        true => Json::Null,
        false => Json::Object(members),
    }
}
