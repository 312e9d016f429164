//! `ietf-yang-library`: `yang-library` (RFC 8525), and `modules-state` (RFC 7895) for older clients.
//!
//! The modules of the served anchor are the module set `complete`, the only one of the conventional datastores. The
//! operational datastore also has the modules of the server's state, the module set `server-state`.

use std::sync::Arc;

use espalier_store::{Datastore, ProviderError, ProviderRequest, Timestamp};
use espalier_yang::data::{Content, DataNode, DataTree, PrintOptions, json};
use espalier_yang::schema::{Module, MountedSchema, is_yang_1_1};
use espalier_yang::{NodeId, Schema};

use super::anchor_state::AnchorState;
use super::module_texts::ModuleTexts;
use super::served_anchor::ServedAnchor;
use super::state_nodes::StateNodes;

pub(super) const MODULE: &str = "ietf-yang-library";

/// The module set of the served anchor, and the schema of the conventional datastores.
const OWN_SET: &str = "complete";

/// The module set of the server's state, and the schema of the operational datastore.
const STATE_SET: &str = "server-state";
const OPERATIONAL_SCHEMA: &str = "operational";

/// The content of a YANG library, for clients that keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryTag {
    /// `content-id`: differs for every other content.
    pub id: String,
    /// Since when the library has this content.
    pub since: Timestamp,
}

/// `yang-library`.
pub(super) fn yang_library(
    state: &AnchorState,
    request: &ProviderRequest,
) -> Result<DataTree, ProviderError> {
    let schema = state.state_schema()?;
    let library = Library::new(&state.served, &schema);
    Ok(library.yang_library(&request.schema, &state.library_tag()?.id))
}

/// `modules-state`.
pub(super) fn modules_state(
    state: &AnchorState,
    request: &ProviderRequest,
) -> Result<DataTree, ProviderError> {
    let schema = state.state_schema()?;
    let library = Library::new(&state.served, &schema);
    Ok(library.modules_state(&request.schema, &state.library_tag()?.id))
}

/// A module of a set, with the schema that has it.
#[derive(Clone, Copy)]
struct Listed<'a> {
    module: &'a Module,
    schema: &'a Schema,
}

/// How the two documents describe the location of a text, and the revision of a submodule.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Library,
    ModulesState,
}

/// The modules of a server.
pub(super) struct Library<'a> {
    served: &'a ServedAnchor,
    own: Vec<Listed<'a>>,
    state: Vec<Listed<'a>>,
    state_schema: &'a Arc<Schema>,
}

impl<'a> Library<'a> {
    /// The modules of a served anchor and of the server's state.
    pub fn new(served: &'a ServedAnchor, state_schema: &'a Arc<Schema>) -> Self {
        let own: &Schema = served.anchor.running().schema();
        let has = |listed: &Listed<'_>| {
            own.own_modules().iter().any(|other| {
                let is_same_revision = other.revision == listed.module.revision;
                let is_replaced = listed.module.is_implemented && other.is_implemented;
                other.name == listed.module.name && (is_same_revision || is_replaced)
            })
        };
        Self {
            served,
            own: listed(own).collect(),
            state: listed(state_schema).filter(|listed| !has(listed)).collect(),
            state_schema,
        }
    }

    /// All modules.
    pub fn modules(&self) -> impl Iterator<Item = &'a Module> {
        let modules = self.own.iter().chain(&self.state);
        modules.map(|listed| listed.module)
    }

    /// The capabilities of the modules of YANG 1 (RFC 6020 §5.6.4). Those of YANG 1.1 are in the library only
    /// (RFC 7950 §5.6.4).
    pub fn module_capabilities(&self) -> Vec<String> {
        let implemented = self.modules().filter(|module| module.is_implemented);
        let modules = implemented.filter(|module| {
            let key = ModuleTexts::key(&module.name, module.revision.as_deref());
            let text = self.served.texts.get(&key);
            text.is_some_and(|text| !is_yang_1_1(text))
        });
        modules.map(module_capability).collect()
    }

    /// A hash of the content.
    pub fn content_id(&self) -> String {
        let tree = self.yang_library(self.state_schema, "");
        let mut printer =
            json::Printer::new(self.state_schema, Vec::new(), PrintOptions::default());
        // Writing to memory does not fail; the data is in the order of the schema's lists.
        let _ = tree.emit(&mut printer);
        let text = printer.finish().unwrap_or_default();
        blake3::hash(&text).to_hex()[..16].to_owned()
    }

    fn yang_library(&self, schema: &Arc<Schema>, content_id: &str) -> DataTree {
        StateNodes::tree(schema, (MODULE, "yang-library"), |library| {
            for (name, modules) in self.sets() {
                let modules = modules.iter().map(|listed| listed.module);
                library.inner("module-set", |set| {
                    module_set(self.served, set, name, modules);
                });
            }
            for (name, sets) in [
                (OWN_SET, &[OWN_SET][..]),
                (OPERATIONAL_SCHEMA, &[OWN_SET, STATE_SET][..]),
            ] {
                if self.has_schema(name) {
                    library.inner("schema", |schema| {
                        schema.leaf("name", name);
                        schema.leaf_list("module-set", sets);
                    });
                }
            }
            for &datastore in &self.served.datastores {
                let schema = match datastore {
                    Datastore::Operational if self.has_schema(OPERATIONAL_SCHEMA) => {
                        OPERATIONAL_SCHEMA
                    }
                    _ => OWN_SET,
                };
                library.inner("datastore", |entry| described(entry, datastore, schema));
            }
            library.leaf("content-id", content_id);
        })
    }

    fn sets(&self) -> impl Iterator<Item = (&'static str, &[Listed<'a>])> {
        let sets = [(OWN_SET, &*self.own), (STATE_SET, &*self.state)];
        sets.into_iter().filter(|(_, modules)| !modules.is_empty())
    }

    /// Whether there is a schema of this name: that of operational is another one only if it has more modules.
    fn has_schema(&self, name: &str) -> bool {
        name == OWN_SET || !self.state.is_empty()
    }

    fn modules_state(&self, schema: &Arc<Schema>, content_id: &str) -> DataTree {
        StateNodes::tree(schema, (MODULE, "modules-state"), |state| {
            state.leaf("module-set-id", content_id);
            for listed in self.own.iter().chain(&self.state) {
                state.inner("module", |entry| self.module_of_state(entry, *listed));
            }
        })
    }

    fn module_of_state(&self, entry: &mut StateNodes<'_>, listed: Listed<'_>) {
        let Listed { module, schema } = listed;
        let revision = module.revision.as_deref();
        entry.leaf("name", &module.name);
        entry.leaf("revision", revision.unwrap_or_default());
        location(
            self.served,
            entry,
            Form::ModulesState,
            (&module.name, revision),
        );
        entry.leaf("namespace", &module.namespace);
        entry.leaf_list("feature", &module.features);
        for name in &module.deviated_by {
            let deviating = schema.module_by_name(name).map(|id| schema.module(id));
            let revision = deviating.and_then(|module| module.revision.as_deref());
            entry.inner("deviation", |deviation| {
                deviation.leaf("name", name);
                deviation.leaf("revision", revision.unwrap_or_default());
            });
        }
        entry.leaf(
            "conformance-type",
            match module.is_implemented {
                true => "implement",
                false => "import",
            },
        );
        submodules(self.served, entry, Form::ModulesState, module);
    }
}

/// The capability of a module of YANG 1.
fn module_capability(module: &Module) -> String {
    let mut uri = format!("{}?module={}", module.namespace, module.name);
    let revision = module.revision.iter().cloned().collect();
    let parameters: [(&str, &Vec<Box<str>>); 3] = [
        ("revision", &revision),
        ("features", &module.features),
        ("deviations", &module.deviated_by),
    ];
    for (name, values) in parameters {
        if !values.is_empty() {
            uri.push_str(&format!("&{name}={}", values.join(",")));
        }
    }
    uri
}

/// A datastore with its schema.
fn described(entry: &mut StateNodes<'_>, datastore: Datastore, schema: &str) {
    let module = match datastore {
        // RFC 8808: in another module, which the schema may lack.
        Datastore::FactoryDefault => "ietf-factory-default",
        _ => "ietf-datastores",
    };
    entry.leaf("name", &format!("{module}:{}", datastore.name()));
    entry.leaf("schema", schema);
}

fn module_set<'a>(
    served: &ServedAnchor,
    set: &mut StateNodes<'_>,
    name: &str,
    modules: impl Iterator<Item = &'a Module> + Clone,
) {
    set.leaf("name", name);
    for (list, is_implemented) in [("module", true), ("import-only-module", false)] {
        let of_list = |module: &&Module| module.is_implemented == is_implemented;
        for module in modules.clone().filter(of_list) {
            set.inner(list, |entry| library_module(served, entry, module));
        }
    }
}

fn library_module(served: &ServedAnchor, entry: &mut StateNodes<'_>, module: &Module) {
    let revision = module.revision.as_deref();
    entry.leaf("name", &module.name);
    // Of an imported module, it is a key, which is then empty.
    if revision.is_some() || !module.is_implemented {
        entry.leaf("revision", revision.unwrap_or_default());
    }
    entry.leaf("namespace", &module.namespace);
    location(served, entry, Form::Library, (&module.name, revision));
    submodules(served, entry, Form::Library, module);
    if module.is_implemented {
        entry.leaf_list("feature", &module.features);
        entry.leaf_list("deviation", &module.deviated_by);
    }
}

fn submodules(served: &ServedAnchor, entry: &mut StateNodes<'_>, form: Form, module: &Module) {
    for (name, revision) in &module.submodules {
        let revision = revision.as_deref();
        entry.inner("submodule", |submodule| {
            submodule.leaf("name", name);
            if revision.is_some() || form == Form::ModulesState {
                submodule.leaf("revision", revision.unwrap_or_default());
            }
            location(served, submodule, form, (name, revision));
        });
    }
}

fn location(
    served: &ServedAnchor,
    entry: &mut StateNodes<'_>,
    form: Form,
    (name, revision): (&str, Option<&str>),
) {
    let leaf = match form {
        Form::Library => "location",
        Form::ModulesState => "schema",
    };
    if let Some(url) = served.text_url(name, revision) {
        entry.leaf(leaf, &url);
    }
}

/// The library of a mounted schema, at a node of it.
pub(super) fn mounted(
    state: &AnchorState,
    schema: &Schema,
    library: NodeId,
    mounted: &MountedSchema,
) -> DataNode {
    let served = &state.served;
    let parent = schema.node(library).parent;
    let modules = mounted.modules.iter();
    let mut id = blake3::Hasher::new();
    for module in modules.clone() {
        let features = module.features.join(" ");
        let parts = [
            &*module.name,
            module.revision.as_deref().unwrap_or_default(),
            &features,
        ];
        for part in parts {
            id.update(part.as_bytes()).update(&[0]);
        }
    }
    let name = format!("{MODULE}:yang-library");
    let nodes = StateNodes::nodes_in(schema, parent, &name, |library| {
        library.inner("module-set", |set| {
            module_set(served, set, OWN_SET, modules)
        });
        library.inner("schema", |entry| {
            entry.leaf("name", OWN_SET);
            entry.leaf("module-set", OWN_SET);
        });
        library.leaf("content-id", &id.finalize().to_hex()[..16]);
    });
    let empty = DataNode::new(library, Content::Inner(Vec::new()));
    nodes.into_iter().next().unwrap_or(empty)
}

fn listed(schema: &Schema) -> impl Iterator<Item = Listed<'_>> {
    let modules = schema.own_modules().iter();
    modules.map(move |module| Listed { module, schema })
}
