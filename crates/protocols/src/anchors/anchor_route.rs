//! The anchor of a request.

use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::response::Response;
use espalier_service::SessionDatastore;
use espalier_yang::{DataError, ErrorTag, ErrorType};
use http::request::Parts;

use super::{AnchorName, ServedAnchor, ServedAnchors};
use crate::http_error::HttpError;
use crate::request_session::caller_of;
use crate::restconf;

/// The state of the routes of anchors: where a request finds its anchor.
#[derive(Clone)]
pub enum AnchorRoute {
    /// Requests are for the default anchor.
    Default(ServedAnchors),
    /// The path of a request names its anchor, with the parameters `dataspace` and `anchor`.
    Named(ServedAnchors),
}

impl AnchorRoute {
    /// The anchors.
    pub fn anchors(&self) -> &ServedAnchors {
        match self {
            Self::Default(anchors) | Self::Named(anchors) => anchors,
        }
    }
}

/// The anchor of a request, open and current when the request arrived.
#[derive(Clone)]
pub struct RequestAnchor {
    anchors: ServedAnchors,
    anchor: Arc<ServedAnchor>,
    /// `None` for the default anchor.
    name: Option<AnchorName>,
}

impl RequestAnchor {
    /// The anchor.
    pub fn anchor(&self) -> &Arc<ServedAnchor> {
        &self.anchor
    }

    /// The anchors of the server.
    pub fn anchors(&self) -> &ServedAnchors {
        &self.anchors
    }

    /// Running of the anchor, as the session of the request sees it.
    ///
    /// # Errors
    /// `resource-denied` if there are too many sessions.
    pub fn datastore(&self, parts: &Parts, session: &str) -> Result<SessionDatastore, DataError> {
        self.anchor.datastore(parts, session)
    }

    /// Whether its modules were replaced or it was recreated since the request arrived; or those of the default anchor,
    /// which can have the access rules.
    pub(super) fn is_replaced(&self) -> bool {
        // An engine that fails now has failed the request too.
        matches!(self.anchor.anchor().is_current(), Ok(false))
            || (self.name.is_some() && self.anchors.inner.is_default_replaced())
    }

    /// The anchor as it is now, if [`Self::is_replaced`], else `None`. Blocks.
    pub fn renewed(&self) -> Option<Result<Self, HttpError>> {
        if !self.is_replaced() {
            return None;
        }
        self.anchors.catalog_changed();
        let anchor = match &self.name {
            None => self.anchors.default_anchor(),
            Some(name) => self.anchors.open(name),
        };
        Some(anchor.map(|anchor| Self {
            anchor,
            ..self.clone()
        }))
    }
}

impl FromRequestParts<AnchorRoute> for RequestAnchor {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, route: &AnchorRoute) -> Result<Self, Response> {
        let found = match route {
            AnchorRoute::Default(anchors) => default_anchor(anchors),
            AnchorRoute::Named(anchors) => match anchor_name(parts).await {
                Ok(name) => named_anchor(anchors, parts, name).await,
                Err(error) => Err(error),
            },
        };
        found.map_err(|error| restconf::rejection(parts, error))
    }
}

fn default_anchor(anchors: &ServedAnchors) -> Result<RequestAnchor, HttpError> {
    Ok(RequestAnchor {
        anchor: anchors.default_anchor()?,
        anchors: anchors.clone(),
        name: None,
    })
}

async fn named_anchor(
    anchors: &ServedAnchors,
    parts: &Parts,
    name: AnchorName,
) -> Result<RequestAnchor, HttpError> {
    let caller = caller_of(parts.extensions.get());
    let anchor = match anchors.open_anchor(&caller, &name)? {
        Some(anchor) => anchor,
        None => {
            let (anchors, name) = (anchors.clone(), name.clone());
            blocking(move || anchors.open(&name)).await?
        }
    };
    Ok(RequestAnchor {
        anchor,
        anchors: anchors.clone(),
        name: Some(name),
    })
}

/// The anchor that the path of a request names.
async fn anchor_name(parts: &mut Parts) -> Result<AnchorName, HttpError> {
    let parameters = RawPathParams::from_request_parts(parts, &()).await;
    let parameters = parameters.map_err(|error| {
        let error = DataError::new(ErrorTag::InvalidValue, error.body_text());
        error.of_type(ErrorType::Protocol)
    })?;
    let text = |wanted: &str| {
        let mut parameters = parameters.iter();
        let found = parameters.find(|(name, _)| *name == wanted);
        found.map(|(_, text)| text).unwrap_or_default()
    };
    Ok(AnchorName::new(text("dataspace"), text("anchor")))
}

/// Runs work that may block on another thread.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, HttpError> + Send + 'static,
) -> Result<T, HttpError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => {
            tracing::error!(%error, "a request ended early");
            Err(
                DataError::new(ErrorTag::OperationFailed, espalier_store::INTERNAL)
                    .of_type(ErrorType::Protocol)
                    .into(),
            )
        }
    }
}
