//! The RESTCONF service.

use std::sync::{Arc, OnceLock};

use espalier_service::server_state::{DescribedAnchor, ServedAnchor};
use espalier_service::session::Session;
use espalier_service::{Anchor, Service, SessionDatastore};
use espalier_store::Datastore;
use espalier_yang::Schema;
use espalier_yang::schema::SchemaSource;
use http::request::Parts;

use super::RestconfConfig;
use super::conditions::Validators;
use super::edit_queue::EditQueue;
use super::error::{Failure, Result};
use super::schema_documents::SchemaDocuments;
use super::server::RestconfServer;
use super::server_description::CAPABILITIES;
use crate::request_session::session_of;

/// The name at `{+restconf}/ds/` of the private datastore of a session.
pub const PRIVATE_CANDIDATE: &str = "espalier-datastores:private-candidate";

/// The RESTCONF service of one anchor. What does not depend on the anchor is shared, so one
/// service is small, whatever the size of the models.
pub struct Restconf {
    pub(super) server: Arc<RestconfServer>,
    pub(super) documents: Arc<SchemaDocuments>,
    /// What precedes [`RestconfConfig::root`] in the URLs of the anchor; empty for the default anchor.
    prefix: String,
    anchor: Anchor,
    /// Those at `{+restconf}/ds/`; running is at `{+restconf}/data` too.
    datastores: Vec<Datastore>,
    /// What [`Self::describe`] made.
    described: OnceLock<DescribedAnchor>,
    /// The small edits of running.
    pub(super) edit_queue: EditQueue,
}

impl Restconf {
    /// Serves an anchor. Its schema was compiled from `source`.
    pub fn new(
        service: Service,
        anchor: Anchor,
        source: &SchemaSource,
        config: RestconfConfig,
    ) -> Self {
        let documents = SchemaDocuments::new(Arc::clone(anchor.schema()), source.clone());
        let server = RestconfServer::new(service, config);
        Self::of_anchor(Arc::new(server), Arc::new(documents), anchor, String::new())
    }

    /// As [`Self::new`], for one anchor of a server of many. `prefix` precedes the root of RESTCONF in its URLs.
    pub fn of_anchor(
        server: Arc<RestconfServer>,
        documents: Arc<SchemaDocuments>,
        anchor: Anchor,
        prefix: String,
    ) -> Self {
        Self {
            server,
            documents,
            prefix,
            anchor,
            datastores: vec![Datastore::Running],
            described: OnceLock::new(),
            edit_queue: EditQueue::default(),
        }
    }

    /// Adds a datastore, at `{+restconf}/ds/ietf-datastores:NAME` (RFC 8527).
    #[must_use]
    pub fn with_datastore(mut self, datastore: Datastore) -> Self {
        self.datastores.push(datastore);
        self
    }

    /// The documents of the schema.
    pub fn documents(&self) -> &Arc<SchemaDocuments> {
        &self.documents
    }

    pub(super) fn config(&self) -> &RestconfConfig {
        &self.server.config
    }

    /// The root resource (RFC 8040 §3.1), in the URLs of responses.
    pub(super) fn root(&self) -> String {
        format!("{}{}", self.prefix, self.config().root)
    }

    /// What precedes the root resource in URLs.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Describes what is served in the state of the server, until this service is dropped.
    pub(crate) fn describe(&self) -> espalier_store::Result<()> {
        let base_url = &self.config().base_url;
        let described = self.server.service.describe(ServedAnchor {
            anchor: self.anchor.clone(),
            datastores: self.datastores.clone(),
            texts: self.documents.texts.clone(),
            texts_url: match base_url.is_empty() {
                true => String::new(),
                false => format!("{base_url}{}/schema", self.root()),
            },
            streams_url: match base_url.is_empty() {
                true => String::new(),
                false => format!("{base_url}{}/streams", self.root()),
            },
            restconf_capabilities: CAPABILITIES.map(str::to_owned).to_vec(),
        })?;
        let _ = self.described.set(described);
        Ok(())
    }

    /// What precedes the number of a subscription in the URL of its notifications.
    pub(super) fn subscriptions_url(&self) -> String {
        format!("{}{}/subscriptions", self.config().base_url, self.root())
    }

    /// The schema of the data.
    pub(super) fn schema(&self) -> &Arc<Schema> {
        self.anchor.schema()
    }

    /// The anchor.
    pub fn anchor(&self) -> &Anchor {
        &self.anchor
    }

    /// The session of a request.
    pub(super) fn session(&self, parts: &Parts, name: &str) -> Result<Arc<Session>> {
        Ok(session_of(&self.server.service, parts, name)?)
    }

    /// The datastore at `{+restconf}/data`, for a session.
    pub(super) fn main_datastore(&self, session: &Arc<Session>) -> SessionDatastore {
        self.server.service.running(session, &self.anchor)
    }

    /// A datastore, by its identity derived from `ietf-datastores:datastore`. The private
    /// candidate has no such identity; it is the one of the session.
    pub(super) fn datastore(
        &self,
        identity: &str,
        session: &Arc<Session>,
    ) -> Result<SessionDatastore> {
        let main = self.main_datastore(session);
        if identity == PRIVATE_CANDIDATE {
            return Ok(main.sibling(Datastore::PrivateCandidate)?);
        }
        let name = identity.strip_prefix("ietf-datastores:");
        let mut defined = self.datastores.iter();
        match defined.find(|defined| Some(defined.name()) == name) {
            Some(&datastore) => Ok(main.sibling(datastore)?),
            None => {
                let error = name.and_then(|name| Datastore::parse(name).err());
                let message = error.map_or_else(
                    || format!("there is no datastore “{identity}”"),
                    |error| error.message,
                );
                Err(Failure::not_found(message))
            }
        }
    }

    /// The validators of the API resource and its children: like the YANG library, they change with the modules only.
    pub(super) fn library_validators(&self) -> Result<Option<Validators>> {
        let tag = self.server.service.library_tag(&self.anchor)?;
        Ok(tag.map(Validators::of_library))
    }
}
