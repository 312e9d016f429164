//! The RESTCONF service.

use std::sync::Arc;

use espalier_service::server_state::{ModuleTexts, ServedAnchor};
use espalier_service::session::Session;
use espalier_service::{Service, SessionDatastore};
use espalier_store::{Datastore, Tree};
use espalier_yang::Schema;
use espalier_yang::schema::SchemaSource;
use http::request::Parts;
use tokio::sync::Semaphore;

use super::RestconfConfig;
use super::conditions::Validators;
use super::error::{Failure, Result};
use super::server_description::{CAPABILITIES, Xrd};
use crate::request_session::session_of;

/// The name at `{+restconf}/ds/` of the private datastore of a session.
pub const PRIVATE_CANDIDATE: &str = "espalier-datastores:private-candidate";

/// The RESTCONF service: a tree for each datastore, and the texts of its modules.
pub struct Restconf {
    pub(super) config: RestconfConfig,
    service: Service,
    /// The first is the datastore at `{+restconf}/data`.
    datastores: Vec<(&'static str, Tree)>,
    pub(super) texts: ModuleTexts,
    pub(super) host_meta: Xrd,
    /// Limits streamed responses: one permit each.
    pub(super) streams: Arc<Semaphore>,
    /// Limits commits and loads: one permit each.
    pub(super) writes: Arc<Semaphore>,
}

impl Restconf {
    /// Serves `tree` as the running datastore. Its schema was compiled from `source`.
    pub fn new(
        service: Service,
        tree: Tree,
        source: &SchemaSource,
        config: RestconfConfig,
    ) -> Self {
        let texts = ModuleTexts::new(tree.schema(), source);
        Self {
            host_meta: Xrd::new(&config.root),
            streams: Arc::new(Semaphore::new(config.limits.streams_max)),
            writes: Arc::new(Semaphore::new(config.limits.writes_max)),
            datastores: vec![("running", tree)],
            texts,
            config,
            service,
        }
    }

    /// Adds a datastore, at `{+restconf}/ds/ietf-datastores:NAME` (RFC 8527). It must have the same schema.
    #[must_use]
    pub fn with_datastore(mut self, name: &'static str, tree: Tree) -> Self {
        self.datastores.push((name, tree));
        self
    }

    /// Describes what is served in the state of the server.
    pub(super) fn describe(&self) -> espalier_store::Result<()> {
        let datastores = self.datastores.iter();
        let RestconfConfig { root, base_url, .. } = &self.config;
        self.service.describe(ServedAnchor {
            running: self.main_tree().clone(),
            datastores: datastores.map(|(_, tree)| tree.datastore()).collect(),
            texts: self.texts.clone(),
            texts_url: match base_url.is_empty() {
                true => String::new(),
                false => format!("{base_url}{root}/schema"),
            },
            restconf_capabilities: CAPABILITIES.map(str::to_owned).to_vec(),
        })
    }

    /// The schema of the data.
    pub(super) fn schema(&self) -> &Arc<Schema> {
        self.main_tree().schema()
    }

    /// The tree at `{+restconf}/data`.
    fn main_tree(&self) -> &Tree {
        &self.datastores[0].1
    }

    /// The session of a request.
    pub(super) fn session(&self, parts: &Parts, name: &str) -> Result<Arc<Session>> {
        Ok(session_of(&self.service, parts, name)?)
    }

    /// The datastore at `{+restconf}/data`, for a session.
    pub(super) fn main_datastore(&self, session: &Arc<Session>) -> SessionDatastore {
        self.service.datastore(session, self.main_tree().clone())
    }

    /// The tree of a datastore, by its identity derived from `ietf-datastores:datastore`. The private
    /// candidate has no such identity; it is the one of the session.
    pub(super) fn datastore(
        &self,
        identity: &str,
        session: &Arc<Session>,
    ) -> Result<SessionDatastore> {
        if identity == PRIVATE_CANDIDATE {
            let main = self.main_datastore(session);
            return Ok(main.sibling(Datastore::PrivateCandidate)?);
        }
        let name = identity.strip_prefix("ietf-datastores:");
        let mut defined = self.datastores.iter();
        defined
            .find(|(defined, _)| Some(*defined) == name)
            .map(|(_, tree)| self.service.datastore(session, tree.clone()))
            .ok_or_else(|| {
                let error = name.and_then(|name| Datastore::parse(name).err());
                let message = error.map_or_else(
                    || format!("there is no datastore “{identity}”"),
                    |error| error.message,
                );
                Failure::not_found(message)
            })
    }

    /// The validators of the API resource and its children: like the YANG library, they change with the modules only.
    pub(super) fn library_validators(&self) -> Result<Option<Validators>> {
        let tag = self.service.library_tag(self.main_tree())?;
        Ok(tag.map(Validators::of_library))
    }
}
