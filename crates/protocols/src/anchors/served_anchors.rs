//! The anchors of a store that are served.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use espalier_service::access::{AnchorAccess, Caller};
use espalier_service::{Anchor, Service};
use espalier_store::{CatalogState, Error, Result, Store};
use espalier_yang::{DataError, ErrorTag, ErrorType};
use http::StatusCode;
use parking_lot::{Mutex, RwLock};

use super::limits::OPEN_ATTEMPTS_MAX;
use super::open_anchors::{Lookup, OpenAnchors};
use super::{AnchorLimits, AnchorName, ServedAnchor};
use crate::http_error::HttpError;
use crate::restconf::{RestconfConfig, RestconfServer, SchemaDocuments};

/// The anchor that is served at the root.
#[derive(Clone, Debug)]
pub struct DefaultAnchor {
    /// Its name.
    pub name: AnchorName,
    /// What follows the message that there is no such anchor: how to create it.
    pub missing_hint: String,
}

/// The anchors of a store that are served. Cheap to clone.
#[derive(Clone)]
pub struct ServedAnchors {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    server: Arc<RestconfServer>,
    default: DefaultAnchor,
    default_state: RwLock<DefaultState>,
    pub(super) open: OpenAnchors,
    /// The documents of the schemas that are in use.
    documents: Mutex<Vec<Weak<SchemaDocuments>>>,
    /// Incremented when open anchors may no longer be current.
    epoch: AtomicU64,
    /// The state of the catalog before the first anchor was opened.
    pub(super) first_state: CatalogState,
}

#[derive(Clone)]
enum DefaultState {
    Open(Arc<ServedAnchor>),
    Missing,
    /// It cannot be opened, for this reason.
    Failed(String),
}

impl ServedAnchors {
    /// Serves the anchors of the store of a service.
    ///
    /// # Errors
    /// The default anchor exists and cannot be opened.
    pub fn new(
        service: Service,
        default: DefaultAnchor,
        config: RestconfConfig,
        limits: AnchorLimits,
    ) -> Result<Self> {
        let first_state = service.configuration().store().catalog_state()?;
        let inner = Inner {
            server: Arc::new(RestconfServer::new(service, config)),
            default,
            default_state: RwLock::new(DefaultState::Missing),
            open: OpenAnchors::new(limits),
            documents: Mutex::default(),
            epoch: AtomicU64::new(0),
            first_state,
        };
        inner.open_default()?;
        let inner = Arc::new(inner);
        let anchors = Arc::downgrade(&inner);
        inner.server.service().observe_modules(Box::new(move || {
            if let Some(anchors) = anchors.upgrade() {
                anchors.catalog_changed();
            }
        }));
        Ok(Self { inner })
    }

    /// What all anchors share.
    pub fn server(&self) -> &Arc<RestconfServer> {
        &self.inner.server
    }

    /// The store.
    pub fn store(&self) -> &Store {
        self.inner.store()
    }

    /// The number of open anchors, without the default anchor.
    pub fn open_count(&self) -> usize {
        self.inner.open.len()
    }

    /// Called when the catalog may have changed: open anchors are checked before their next request.
    pub fn catalog_changed(&self) {
        self.inner.catalog_changed();
    }

    /// The default anchor.
    ///
    /// # Errors
    /// Status 404 if there is none, 503 if it cannot be opened now.
    pub fn default_anchor(&self) -> std::result::Result<Arc<ServedAnchor>, HttpError> {
        match &*self.inner.default_state.read() {
            DefaultState::Open(anchor) => Ok(Arc::clone(anchor)),
            DefaultState::Missing => {
                let DefaultAnchor { name, missing_hint } = &self.inner.default;
                Err(not_found(format!(
                    "there is no anchor {name}{missing_hint}"
                )))
            }
            DefaultState::Failed(reason) => Err(unavailable(reason.clone())),
        }
    }

    /// Opens the default anchor again if it was replaced; false if it was not.
    pub(crate) fn renew_default(&self) -> bool {
        let is_replaced = self.inner.is_default_replaced();
        if is_replaced {
            self.catalog_changed();
        }
        is_replaced
    }

    /// An anchor for a user. Whether the user may know of it is decided before the store is read. Blocks if the
    /// anchor is not open or has to be checked; see [`Self::open_anchor`].
    ///
    /// # Errors
    /// Status 404 if there is none or the user must not know of it; 503 if it cannot be opened now.
    pub fn anchor(
        &self,
        caller: &Caller,
        name: &AnchorName,
    ) -> std::result::Result<Arc<ServedAnchor>, HttpError> {
        match self.open_anchor(caller, name)? {
            Some(anchor) => Ok(anchor),
            None => self.open(name),
        }
    }

    /// As [`Self::anchor`], if it is open and current, without blocking.
    ///
    /// # Errors
    /// Status 404 if the user must not know of it.
    pub fn open_anchor(
        &self,
        caller: &Caller,
        name: &AnchorName,
    ) -> std::result::Result<Option<Arc<ServedAnchor>>, HttpError> {
        let access = self.access_of(caller)?;
        if !access.sees_anchor(&name.dataspace, &name.anchor) {
            return Err(missing_anchor(&name.anchor).into());
        }
        Ok(match self.inner.open.get(name, self.inner.epoch()) {
            Lookup::Current(anchor) => Some(anchor),
            Lookup::Unchecked(_) | Lookup::Closed => None,
        })
    }

    /// Which anchors a user can know of.
    ///
    /// # Errors
    /// Those of reading the rules.
    pub(super) fn access_of(&self, caller: &Caller) -> Result<AnchorAccess> {
        let service = self.inner.server.service();
        match service.anchor_access(caller) {
            // The rules can be in the default anchor.
            Err(_) if self.inner.is_default_replaced() => {
                self.inner.catalog_changed();
                service.anchor_access(caller)
            }
            result => result,
        }
    }

    /// Opens an anchor that the user may know of, or checks that it is current.
    pub(super) fn open(
        &self,
        name: &AnchorName,
    ) -> std::result::Result<Arc<ServedAnchor>, HttpError> {
        let inner = &self.inner;
        let opened = inner.open_or_check(name);
        opened.map_err(|error| {
            inner.open.remove(name);
            match error {
                Error::Unknown { .. } | Error::Engine(_) => error.into(),
                error => unavailable(format!("the anchor {name} cannot be opened: {error}")),
            }
        })
    }
}

impl Inner {
    pub(super) fn store(&self) -> &Store {
        self.server.service().configuration().store()
    }

    fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    pub(super) fn catalog_changed(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        self.check_default();
    }

    /// Whether the default anchor exists and cannot be opened.
    pub(super) fn has_default_failed(&self) -> bool {
        matches!(&*self.default_state.read(), DefaultState::Failed(_))
    }

    /// Whether the default anchor is open and no longer current.
    pub(super) fn is_default_replaced(&self) -> bool {
        let state = self.default_state.read().clone();
        let DefaultState::Open(anchor) = state else {
            return false;
        };
        match anchor.anchor().is_current() {
            Ok(is_current) => !is_current,
            Err(error) => {
                // Every request fails with the same error and reports it.
                tracing::debug!(%error, "it is unknown whether the models are unchanged");
                false
            }
        }
    }

    /// Opens the default anchor again if it is not current. It is not opened on demand, because the users and access
    /// rules of the server can be in it.
    fn check_default(&self) {
        let is_open = matches!(&*self.default_state.read(), DefaultState::Open(_));
        if is_open && !self.is_default_replaced() {
            return;
        }
        match self.open_default() {
            Ok(()) if is_open => {
                tracing::info!("the default anchor was changed; serving it as it is now")
            }
            Ok(()) => {}
            Err(error) => {
                let message = format!("the tree cannot be opened again: {error}");
                tracing::warn!("{message}");
                *self.default_state.write() = DefaultState::Failed(message);
            }
        }
    }

    fn open_default(&self) -> Result<()> {
        let state = match self.open_now(&self.default.name, String::new()) {
            Ok(anchor) => DefaultState::Open(Arc::new(anchor)),
            Err(Error::Unknown { .. }) => DefaultState::Missing,
            Err(error) => return Err(error),
        };
        if let DefaultState::Open(anchor) = &state {
            self.server.service().set_default_anchor(anchor.anchor());
        }
        *self.default_state.write() = state;
        Ok(())
    }

    fn open_or_check(&self, name: &AnchorName) -> Result<Arc<ServedAnchor>> {
        // Read before the anchor is: a change in between increments it, and the anchor is checked again.
        let epoch = self.epoch();
        match self.open.get(name, epoch) {
            Lookup::Current(anchor) => return Ok(anchor),
            Lookup::Unchecked(anchor) if anchor.anchor().is_current()? => {
                self.open.mark_current(name, &anchor, epoch);
                return Ok(anchor);
            }
            Lookup::Unchecked(_) | Lookup::Closed => {}
        }
        let anchor = Arc::new(self.open_now(name, name.path())?);
        self.open.insert(name.clone(), Arc::clone(&anchor), epoch);
        Ok(anchor)
    }

    fn open_now(&self, name: &AnchorName, prefix: String) -> Result<ServedAnchor> {
        let service = self.server.service();
        for _ in 0..OPEN_ATTEMPTS_MAX {
            let anchor = service.open_anchor(&name.dataspace, &name.anchor)?;
            if let Some(documents) = self.documents_of(name, &anchor)? {
                return ServedAnchor::new(Arc::clone(&self.server), documents, anchor, prefix);
            }
        }
        let message = format!("the modules of the anchor {name} are being replaced");
        Err(Error::data(ErrorTag::InUse, message))
    }

    /// The documents of the schema of an anchor, which all anchors with this schema share; `None` if its modules were
    /// replaced.
    fn documents_of(
        &self,
        name: &AnchorName,
        open: &Anchor,
    ) -> Result<Option<Arc<SchemaDocuments>>> {
        let schema = open.schema();
        // Held while the texts are read, so that this is done once for many anchors at the same time.
        let mut documents = self.documents.lock();
        let mut in_use = documents.iter().filter_map(Weak::upgrade);
        if let Some(shared) = in_use.find(|documents| Arc::ptr_eq(documents.schema(), schema)) {
            return Ok(Some(shared));
        }
        drop(in_use);
        let anchor = self.store().anchor(&name.dataspace, &name.anchor)?;
        let set = self
            .store()
            .schema_set(&name.dataspace, &anchor.schema_set)?;
        if !open.is_current()? {
            return Ok(None);
        }
        let made = Arc::new(SchemaDocuments::new(Arc::clone(schema), set.source));
        documents.retain(|documents| documents.strong_count() > 0);
        documents.push(Arc::downgrade(&made));
        Ok(Some(made))
    }
}

/// The error for an anchor that does not exist, or that the user must not know of.
pub(super) fn missing_anchor(name: &str) -> Error {
    Error::Unknown {
        kind: "anchor",
        name: name.to_owned(),
    }
}

fn not_found(message: String) -> HttpError {
    let error = DataError::new(ErrorTag::InvalidValue, message).of_type(ErrorType::Protocol);
    HttpError::with_status(StatusCode::NOT_FOUND, error)
}

/// The error for something that another attempt can find.
pub(super) fn unavailable(message: impl Into<String>) -> HttpError {
    let error = DataError::new(ErrorTag::OperationFailed, message);
    HttpError::with_status(StatusCode::SERVICE_UNAVAILABLE, error)
}
