//! The session of an HTTP request.

use std::sync::Arc;

use espalier_service::Service;
use espalier_service::access::Caller;
use espalier_service::session::{NewSession, Session, SessionKind, Transport};
use espalier_yang::{DataError, ErrorTag, ErrorType};
use http::request::Parts;

/// The peer of a connection, as the server found it. An extension of requests.
#[derive(Clone)]
pub struct Peer {
    /// The user.
    pub caller: Caller,
    /// How the connection was made.
    pub transport: Transport,
    /// The address.
    pub address: String,
    /// The service that authenticated the user.
    pub service: Service,
}

/// The session that a request names; one of its own if `name` is empty.
///
/// # Errors
/// `resource-denied` if there are too many sessions.
pub fn session_of(service: &Service, parts: &Parts, name: &str) -> Result<Arc<Session>, DataError> {
    let peer = parts.extensions.get::<Peer>();
    match name.is_empty() {
        true => Ok(unnamed_session(service, peer)),
        false => {
            let opened = service.sessions().open(new_session(peer, name));
            opened.map_err(|error| {
                let error = DataError::new(ErrorTag::ResourceDenied, error.to_string());
                error.of_type(ErrorType::Protocol)
            })
        }
    }
}

/// A session of one request.
pub fn unnamed_session(service: &Service, peer: Option<&Peer>) -> Arc<Session> {
    service.sessions().unlisted(new_session(peer, ""))
}

/// The user of a request.
pub(crate) fn caller_of(peer: Option<&Peer>) -> Caller {
    peer.map_or_else(Caller::exempt, |peer| peer.caller.clone())
}

fn new_session(peer: Option<&Peer>, name: &str) -> NewSession {
    NewSession {
        caller: caller_of(peer),
        transport: peer.map_or(Transport::Http, |peer| peer.transport),
        peer: peer.map(|peer| peer.address.clone()).unwrap_or_default(),
        kind: SessionKind::Named,
        name: name.to_owned(),
    }
}
