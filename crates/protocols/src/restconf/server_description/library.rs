//! The YANG library, generated from the schema: `yang-library` (RFC 8525) and `modules-state` (RFC 7895,
//! for older clients).

use std::hash::{DefaultHasher, Hash, Hasher};

use espalier_yang::Schema;
use espalier_yang::schema::Module;

use super::document::{Content, Element, ModuleNames, PrintLevels, Scalar};
use super::texts::{ModuleTexts, key};
use crate::restconf::media::Format;

const LIBRARY: ModuleNames = ModuleNames::constant(
    "ietf-yang-library",
    "urn:ietf:params:xml:ns:yang:ietf-yang-library",
);
const DATASTORES: ModuleNames = ModuleNames::constant(
    "ietf-datastores",
    "urn:ietf:params:xml:ns:yang:ietf-datastores",
);

/// The name of the only module set and the only schema.
const SET_NAME: &str = "complete";

/// Both documents of the library.
#[derive(Debug)]
pub(in crate::restconf) struct Library {
    /// `ietf-yang-library:yang-library`.
    pub(in crate::restconf) yang_library: Element,
    /// `ietf-yang-library:modules-state`.
    pub(in crate::restconf) modules_state: Element,
    /// A hash that changes with any other content of the library.
    pub(in crate::restconf) content_id: String,
}

impl Library {
    /// The library of a schema. `root` is the base of the URLs of module texts.
    pub(in crate::restconf) fn new(
        schema: &Schema,
        texts: &ModuleTexts,
        root: &str,
        datastores: &[&'static str],
    ) -> Self {
        let describe = ModuleDescriber { texts, root };
        let set = describe.module_set(schema);
        let content_id = content_id(&set);
        Self {
            yang_library: yang_library(set, datastores, &content_id),
            modules_state: describe.modules_state(schema, &content_id),
            content_id,
        }
    }
}

/// A hash of the module set.
fn content_id(set: &[Element]) -> String {
    let mut hasher = DefaultHasher::new();
    for element in set {
        let show = PrintLevels { depth: None };
        element.print(Format::Json, show).hash(&mut hasher);
    }
    format!("{:016x}", hasher.finish())
}

fn yang_library(set: Vec<Element>, datastores: &[&'static str], content_id: &str) -> Element {
    let schema = vec![
        Element::leaf("name", SET_NAME),
        leaf_list("module-set", [SET_NAME.to_owned()].into_iter()),
    ];
    let datastores = datastores.iter().map(|&name| {
        vec![
            Element::new("name", Content::Leaf(Scalar::Identity(DATASTORES, name))),
            Element::leaf("schema", SET_NAME),
        ]
    });
    let children = vec![
        Element::new("module-set", Content::List(&["name"], vec![set])),
        Element::new("schema", Content::List(&["name"], vec![schema])),
        Element::new("datastore", Content::List(&["name"], datastores.collect())),
        Element::leaf("content-id", content_id),
    ];
    Element::container("yang-library", children).of(LIBRARY)
}

struct ModuleDescriber<'a> {
    texts: &'a ModuleTexts,
    root: &'a str,
}

impl ModuleDescriber<'_> {
    fn module_set(&self, schema: &Schema) -> Vec<Element> {
        let (implemented, imported): (Vec<&Module>, Vec<&Module>) = schema
            .modules()
            .iter()
            .partition(|module| module.is_implemented);
        let describe =
            |modules: Vec<&Module>| modules.into_iter().map(|m| self.module(m)).collect();
        let mut set = vec![
            Element::leaf("name", SET_NAME),
            Element::new("module", Content::List(&["name"], describe(implemented))),
        ];
        if !imported.is_empty() {
            set.push(Element::new(
                "import-only-module",
                Content::List(&["name", "revision"], describe(imported)),
            ));
        }
        set
    }

    fn module(&self, module: &Module) -> Vec<Element> {
        let mut leaves = vec![Element::leaf("name", &*module.name)];
        let revision = module.revision.as_deref();
        match revision {
            Some(revision) => leaves.push(Element::leaf("revision", revision)),
            // It is a key of import-only-module; the RFC requires it to be empty.
            None if !module.is_implemented => leaves.push(Element::leaf("revision", "")),
            None => {}
        }
        leaves.push(Element::leaf("namespace", &*module.namespace));
        self.location(&mut leaves, "location", &module.name, revision);
        self.submodules(&mut leaves, module, "location");
        if module.is_implemented {
            let names = |names: &[Box<str>]| names.iter().map(ToString::to_string).collect();
            let (features, deviations): (Vec<String>, Vec<String>) =
                (names(&module.features), names(&module.deviated_by));
            push_leaf_list(&mut leaves, "feature", features);
            push_leaf_list(&mut leaves, "deviation", deviations);
        }
        leaves
    }

    fn submodules(&self, leaves: &mut Vec<Element>, module: &Module, location: &'static str) {
        if module.submodules.is_empty() {
            return;
        }
        let entries = module.submodules.iter().map(|(name, revision)| {
            let mut entry = vec![Element::leaf("name", &**name)];
            let revision = revision.as_deref();
            // It is a key in modules-state, and optional in yang-library.
            if revision.is_some() || location == "schema" {
                entry.push(Element::leaf("revision", revision.unwrap_or_default()));
            }
            self.location(&mut entry, location, name, revision);
            entry
        });
        let keys: &'static [&'static str] = match location {
            "schema" => &["name", "revision"],
            _ => &["name"],
        };
        leaves.push(Element::new(
            "submodule",
            Content::List(keys, entries.collect()),
        ));
    }

    /// Adds the URL of the text: a leaf-list in `yang-library`, a leaf in `modules-state`.
    fn location(
        &self,
        leaves: &mut Vec<Element>,
        leaf: &'static str,
        name: &str,
        revision: Option<&str>,
    ) {
        if !self.texts.has(name, revision) {
            return;
        }
        let url = format!("{}/schema/{}.yang", self.root, key(name, revision));
        leaves.push(match leaf {
            "location" => leaf_list(leaf, [url].into_iter()),
            _ => Element::leaf(leaf, url),
        });
    }

    fn modules_state(&self, schema: &Schema, content_id: &str) -> Element {
        let entries = schema.modules().iter().map(|module| {
            let revision = module.revision.as_deref();
            let mut leaves = vec![
                Element::leaf("name", &*module.name),
                Element::leaf("revision", revision.unwrap_or_default()),
            ];
            self.location(&mut leaves, "schema", &module.name, revision);
            leaves.push(Element::leaf("namespace", &*module.namespace));
            let features = module.features.iter().map(ToString::to_string).collect();
            push_leaf_list(&mut leaves, "feature", features);
            self.deviations(&mut leaves, schema, module);
            leaves.push(Element::leaf(
                "conformance-type",
                if module.is_implemented {
                    "implement"
                } else {
                    "import"
                },
            ));
            self.submodules(&mut leaves, module, "schema");
            leaves
        });
        let children = vec![
            Element::leaf("module-set-id", content_id),
            Element::new(
                "module",
                Content::List(&["name", "revision"], entries.collect()),
            ),
        ];
        Element::container("modules-state", children).of(LIBRARY)
    }

    fn deviations(&self, leaves: &mut Vec<Element>, schema: &Schema, module: &Module) {
        if module.deviated_by.is_empty() {
            return;
        }
        let entries = module.deviated_by.iter().map(|name| {
            let revision = schema
                .module_by_name(name)
                .and_then(|id| schema.module(id).revision.as_deref());
            vec![
                Element::leaf("name", &**name),
                Element::leaf("revision", revision.unwrap_or_default()),
            ]
        });
        leaves.push(Element::new(
            "deviation",
            Content::List(&["name", "revision"], entries.collect()),
        ));
    }
}

fn push_leaf_list(leaves: &mut Vec<Element>, name: &'static str, values: Vec<String>) {
    if !values.is_empty() {
        leaves.push(leaf_list(name, values.into_iter()));
    }
}

fn leaf_list(name: &'static str, values: impl Iterator<Item = String>) -> Element {
    Element::new(name, Content::LeafList(values.map(Scalar::Text).collect()))
}
