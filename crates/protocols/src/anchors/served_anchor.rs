//! One anchor.

use std::sync::Arc;

use bytes::Bytes;
use espalier_service::{Anchor, SessionDatastore};
use espalier_store::{Datastore, Result};
use espalier_yang::DataError;
use http::request::Parts;

use crate::request_session::session_of;
use crate::restconf::{Restconf, RestconfServer, SchemaDocuments};

/// The datastores that are served in addition to running (RFC 8527). Each session also has its private candidate.
const DATASTORES: [Datastore; 5] = [
    Datastore::Candidate,
    Datastore::Startup,
    Datastore::FactoryDefault,
    Datastore::Intended,
    Datastore::Operational,
];

/// An anchor that is served, with the modules that it had when it was opened.
pub struct ServedAnchor {
    server: Arc<RestconfServer>,
    restconf: Restconf,
}

impl ServedAnchor {
    /// Serves an anchor. `prefix` precedes its paths.
    pub(super) fn new(
        server: Arc<RestconfServer>,
        documents: Arc<SchemaDocuments>,
        anchor: Anchor,
        prefix: String,
    ) -> Result<Self> {
        let shared = Arc::clone(&server);
        let mut restconf = Restconf::of_anchor(shared, documents, anchor, prefix);
        for datastore in DATASTORES {
            restconf = restconf.with_datastore(datastore);
        }
        restconf.describe()?;
        Ok(Self { server, restconf })
    }

    /// The open anchor.
    pub fn anchor(&self) -> &Anchor {
        self.restconf.anchor()
    }

    /// The RESTCONF service.
    pub(super) fn restconf(&self) -> &Restconf {
        &self.restconf
    }

    /// The texts of the modules (a [`SchemaSource`](espalier_yang::schema::SchemaSource) as JSON).
    pub fn source_json(&self) -> Bytes {
        self.restconf.documents().source_json()
    }

    /// Running, as the session of a request sees it.
    ///
    /// # Errors
    /// `resource-denied` if there are too many sessions.
    pub fn datastore(
        &self,
        parts: &Parts,
        session: &str,
    ) -> std::result::Result<SessionDatastore, DataError> {
        let service = self.server.service();
        let session = session_of(service, parts, session)?;
        Ok(service.running(&session, self.anchor()))
    }
}
