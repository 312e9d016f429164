//! The providers of each served anchor.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use espalier_store::{Provider, ProviderError, ProviderRequest, Registration, Result, Tree};
use espalier_yang::data::DataTree;
use espalier_yang::{InstancePath, Keys, Schema};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;

use super::anchor_state::AnchorState;
use super::sources::StateSources;
use super::yang_library::LibraryTag;
use super::{
    ModuleTexts, ServedAnchor, event_streams, mounts, nacm, netconf_monitoring,
    restconf_monitoring, yang_library,
};
use crate::access::NACM_MODULE;

/// Builds the data of a provider.
type Build = fn(&AnchorState, &ProviderRequest) -> std::result::Result<DataTree, ProviderError>;

/// Data that a provider builds.
struct Provided {
    module: &'static str,
    /// The names of the nodes from the top.
    path: &'static [&'static str],
    build: Build,
}

/// The top-level nodes with state, as the tree of the state has them.
const PROVIDED: [Provided; 9] = [
    Provided {
        module: "ietf-yang-schema-mount",
        path: &["schema-mounts"],
        build: mounts::schema_mounts,
    },
    Provided {
        module: "ietf-yang-library",
        path: &["yang-library"],
        build: yang_library::yang_library,
    },
    Provided {
        module: "ietf-yang-library",
        path: &["modules-state"],
        build: yang_library::modules_state,
    },
    Provided {
        module: "ietf-restconf-monitoring",
        path: &["restconf-state"],
        build: restconf_monitoring::restconf_state,
    },
    Provided {
        module: "ietf-netconf-monitoring",
        path: &["netconf-state"],
        build: netconf_monitoring::netconf_state,
    },
    Provided {
        module: "nc-notifications",
        path: &["netconf"],
        build: event_streams::netconf,
    },
    Provided {
        module: "ietf-subscribed-notifications",
        path: &["streams"],
        build: event_streams::subscribed,
    },
    Provided {
        module: "ietf-subscribed-notifications",
        path: &["subscriptions"],
        build: event_streams::subscriptions,
    },
    Provided {
        module: NACM_MODULE,
        path: &["nacm"],
        build: nacm::in_force,
    },
];

/// In an anchor whose models have the access rules, the rules are data of the anchor, and the server adds the counters.
const COUNTERS: [Provided; 3] = [
    counter(&["nacm", "denied-operations"]),
    counter(&["nacm", "denied-data-writes"]),
    counter(&["nacm", "denied-notifications"]),
];

const fn counter(path: &'static [&'static str]) -> Provided {
    Provided {
        module: NACM_MODULE,
        path,
        build: nacm::counters,
    }
}

/// A served anchor with its providers.
struct AnchorProviders {
    state: Arc<AnchorState>,
    /// The providers of nodes that the models of the anchor define.
    _own: Vec<Registration>,
    /// The tree with all other nodes, with its providers, when it was first read.
    tree: Mutex<Option<(Tree, Vec<Registration>)>>,
}

impl Drop for AnchorProviders {
    fn drop(&mut self) {
        if self.tree.get_mut().take().is_some() {
            self.state.sources.store.remove(self.state.number);
        }
    }
}

/// By the number of the anchor.
type Anchors = RwLock<FxHashMap<u64, Arc<AnchorProviders>>>;

/// The description of a served anchor. Dropping it ends the description, unless there is a later one.
#[must_use = "the description ends when this is dropped"]
pub struct DescribedAnchor {
    providers: Arc<AnchorProviders>,
    all: Arc<Anchors>,
}

impl Drop for DescribedAnchor {
    fn drop(&mut self) {
        let id = self.providers.state.served.anchor.running().anchor_id();
        let mut all = self.all.write();
        if all
            .get(&id)
            .is_some_and(|present| Arc::ptr_eq(present, &self.providers))
        {
            all.remove(&id);
        }
    }
}

/// The state of a service: that of each served anchor.
pub(crate) struct ServerState {
    sources: Arc<StateSources>,
    anchors: Arc<Anchors>,
    /// The number of anchors that were described.
    described: AtomicU64,
}

impl ServerState {
    /// The state of a service without served anchors.
    pub fn new(sources: StateSources) -> Self {
        Self {
            sources: Arc::new(sources),
            anchors: Arc::default(),
            described: AtomicU64::new(0),
        }
    }

    /// Adds or replaces a served anchor.
    pub fn describe(&self, served: ServedAnchor) -> Result<DescribedAnchor> {
        let running = served.anchor.running().clone();
        let state = Arc::new(AnchorState {
            number: self.described.fetch_add(1, Ordering::Relaxed),
            described: running.store().now(),
            served,
            sources: Arc::clone(&self.sources),
            library: OnceLock::new(),
            module_capabilities: OnceLock::new(),
        });
        let earlier = self.anchor(&running);
        let known = earlier.and_then(|earlier| earlier.state.library.get().cloned());
        if let Some(known) = known
            && state.content_id()? == known.id
        {
            // Clients that have the library keep it.
            let _ = state.library.set(known);
        }
        let mut own = register(&running, &state, &Self::provided_in(running.schema()))?;
        own.extend(register_libraries(&running, &state)?);
        let providers = Arc::new(AnchorProviders {
            _own: own,
            state,
            tree: Mutex::default(),
        });
        let replaced = self
            .anchors
            .write()
            .insert(running.anchor_id(), Arc::clone(&providers));
        // Not while the lock is held: it can be the last reference.
        drop(replaced);
        Ok(DescribedAnchor {
            providers,
            all: Arc::clone(&self.anchors),
        })
    }

    /// The schema of the state, and of the server's notifications.
    pub fn schema(&self) -> Result<Arc<Schema>> {
        self.sources.store.schema()
    }

    /// The YANG library's tag of a served anchor.
    pub fn library_tag(&self, anchor: &Tree) -> Result<Option<LibraryTag>> {
        let described = self.anchor(anchor);
        described
            .map(|described| described.state.library_tag())
            .transpose()
    }

    /// The capabilities of NETCONF for the modules of a served anchor.
    pub fn module_capabilities(&self, anchor: &Tree) -> Result<Arc<[String]>> {
        match self.anchor(anchor) {
            Some(described) => described.state.module_capabilities(),
            None => Ok(Arc::from([])),
        }
    }

    /// The text of a module of an anchor: see [`ModuleTexts::find`].
    pub fn module_text(
        &self,
        anchor: &Tree,
        name: &str,
        revision: Option<&str>,
    ) -> Result<Option<Arc<str>>> {
        let texts = match self.anchor(anchor) {
            Some(described) => described.state.served.texts.clone(),
            None => {
                let store = anchor.store();
                let (dataspace, set) = store.schema_set_of(anchor)?;
                let source = store.schema_set(&dataspace, &set)?.source;
                ModuleTexts::new(anchor.schema(), &source)
            }
        };
        Ok(texts.find(name, revision)?.cloned())
    }

    /// The datastore with the state that the models of a served anchor do not define.
    pub fn tree(&self, anchor: &Tree) -> Result<Option<Tree>> {
        let Some(described) = self.anchor(anchor) else {
            return Ok(None);
        };
        let mut opened = described.tree.lock();
        if let Some((tree, _)) = &*opened {
            return Ok(Some(tree.clone()));
        }
        let tree = self.sources.store.tree(described.state.number)?;
        let own = described.state.served.anchor.running().schema();
        let is_missing =
            |provided: &&Provided| path_in(own, provided.module, provided.path).is_none();
        let missing: Vec<&Provided> = PROVIDED.iter().filter(is_missing).collect();
        let registrations = register(&tree, &described.state, &missing)?;
        *opened = Some((tree.clone(), registrations));
        Ok(Some(tree))
    }

    fn anchor(&self, anchor: &Tree) -> Option<Arc<AnchorProviders>> {
        self.anchors.read().get(&anchor.anchor_id()).cloned()
    }

    /// The nodes with state that a schema defines.
    fn provided_in(schema: &Schema) -> Vec<&'static Provided> {
        let provided = PROVIDED
            .iter()
            .filter(|provided| provided.module != NACM_MODULE);
        provided
            .chain(&COUNTERS)
            .filter(|provided| path_in(schema, provided.module, provided.path).is_some())
            .collect()
    }
}

/// Registers providers.
fn register(
    tree: &Tree,
    state: &Arc<AnchorState>,
    provided: &[&'static Provided],
) -> Result<Vec<Registration>> {
    let mut registrations = Vec::new();
    for &Provided {
        module,
        path: names,
        build,
    } in provided
    {
        let Some(path) = path_in(tree.schema(), module, names) else {
            continue;
        };
        let state = Arc::clone(state);
        let name = format!("server: {module}");
        let provider = Provider::new(name, move |request| build(&state, request));
        registrations.push(tree.provide(path, provider)?);
    }
    Ok(registrations)
}

/// Registers the providers of the libraries inside mounts.
fn register_libraries(tree: &Tree, state: &Arc<AnchorState>) -> Result<Vec<Registration>> {
    let paths = mounts::library_paths(tree.schema()).into_iter();
    let registrations = paths.map(|path| {
        let state = Arc::clone(state);
        let call = move |request: &ProviderRequest| mounts::libraries(&state, request);
        tree.provide(
            path,
            Provider::new("server: mounted ietf-yang-library", call),
        )
    });
    registrations.collect()
}

/// The path of an implemented node; `None` if the schema does not define it.
fn path_in(schema: &Schema, module: &str, names: &[&str]) -> Option<InstancePath> {
    let module = schema.module_by_name(module)?;
    let mut path = InstancePath::root();
    for name in names {
        let node = schema.child(path.target(), module, name)?;
        path = path.child(node, Keys::None);
    }
    Some(path)
}
