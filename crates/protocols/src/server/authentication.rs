//! The authentication of the requests of one connection.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use espalier_service::access::Caller;
use espalier_service::identity::{
    AuthenticationError, Credentials, HttpCredentialsError, Peer, parse_authorization,
};
use espalier_service::session::Transport;
use espalier_service::{Door, Service};
use http::header::{AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::early_error::early_error_response;
use crate::request_session;

/// The paths that need no authentication: whether the server works is no secret.
const OPEN_PATHS: [&str; 1] = ["/healthz"];

/// How the client may authenticate (RFC 7617, RFC 6750).
const CHALLENGES: [&str; 2] = [
    "Basic realm=\"espalier\", charset=\"UTF-8\"",
    "Bearer realm=\"espalier\"",
];

/// For how long the user that a certificate or a Unix socket proves is not looked up again. A change of the users by
/// this process applies at once.
const CONNECTION_USER_MAX_AGE: Duration = Duration::from_secs(1);

/// The wait that a busy server names.
const BUSY_RETRY: Duration = Duration::from_secs(1);

/// What authenticates the requests of a connection.
pub(super) struct ConnectionLogin {
    service: Service,
    transport: Transport,
    peer: Peer,
    /// What the connection proves by itself: a certificate, or the user id at the other end.
    proven: Credentials,
    /// The user of `proven`, as it was looked up last.
    known: Mutex<Option<KnownUser>>,
    /// The user whose login is in the audit log.
    recorded: Arc<Mutex<Option<String>>>,
}

struct KnownUser {
    caller: Caller,
    generation: u64,
    since: Instant,
}

/// Why a request has no user.
#[derive(Debug)]
pub(super) enum LoginFailure {
    Header(HttpCredentialsError),
    SeveralHeaders,
    Refused(AuthenticationError),
    Interrupted,
}

impl ConnectionLogin {
    /// The login of a connection from an address. `proven` is the certificate of the client, or nothing.
    pub fn of_address(service: Service, address: IpAddr, proven: Credentials) -> Self {
        let peer = Peer::Address(address);
        Self::new(service, Transport::Http, peer, proven)
    }

    /// The login of a connection over a Unix socket from a process of a user.
    pub fn of_unix_socket(service: Service, uid: u32) -> Self {
        let proven = Credentials::UnixPeer { uid };
        Self::new(service, Transport::UnixSocket, Peer::Local, proven)
    }

    fn new(service: Service, transport: Transport, peer: Peer, proven: Credentials) -> Self {
        Self {
            service,
            transport,
            peer,
            proven,
            known: Mutex::default(),
            recorded: Arc::default(),
        }
    }

    /// The user of a request.
    pub async fn log_in(&self, parts: &Parts) -> Result<request_session::Peer, LoginFailure> {
        let caller = match OPEN_PATHS.contains(&parts.uri.path()) {
            true => Caller::default(),
            false => self.caller(parts).await?,
        };
        Ok(request_session::Peer {
            caller,
            service: self.service.clone(),
            transport: self.transport,
            address: match self.peer {
                Peer::Address(address) => address.to_string(),
                Peer::Local => String::new(),
            },
        })
    }

    async fn caller(&self, parts: &Parts) -> Result<Caller, LoginFailure> {
        let mut headers = parts.headers.get_all(AUTHORIZATION).iter();
        match (headers.next(), headers.next()) {
            (None, _) => self.caller_of_connection().await,
            (Some(header), None) => {
                let credentials = parse_authorization(header.as_bytes());
                self.verify(credentials.map_err(LoginFailure::Header)?)
                    .await
            }
            (Some(_), Some(_)) => Err(LoginFailure::SeveralHeaders),
        }
    }

    async fn caller_of_connection(&self) -> Result<Caller, LoginFailure> {
        if self.proven == Credentials::None {
            // Only compares the state in memory.
            return self
                .service
                .log_in(&self.proven, self.door())
                .map_err(LoginFailure::Refused);
        }
        let generation = self.service.accounts().generation();
        if let Some(known) = &*self.known.lock()
            && known.generation == generation
            && known.since.elapsed() < CONNECTION_USER_MAX_AGE
        {
            return Ok(known.caller.clone());
        }
        let caller = self.verify(self.proven.clone()).await?;
        *self.known.lock() = Some(KnownUser {
            caller: caller.clone(),
            generation,
            since: Instant::now(),
        });
        Ok(caller)
    }

    fn door(&self) -> Door {
        Door {
            transport: self.transport,
            peer: self.peer,
        }
    }

    async fn verify(&self, credentials: Credentials) -> Result<Caller, LoginFailure> {
        let (service, door) = (self.service.clone(), self.door());
        let recorded = Arc::clone(&self.recorded);
        let verified = move || {
            let caller = service.log_in(&credentials, door)?;
            let is_recorded = recorded.lock().as_ref() == Some(&caller.user);
            if !is_recorded {
                service.record_login(&caller, door)?;
                *recorded.lock() = Some(caller.user.clone());
            }
            Ok(caller)
        };
        match tokio::task::spawn_blocking(verified).await {
            Ok(verified) => verified.map_err(LoginFailure::Refused),
            Err(error) => {
                tracing::error!(%error, "a login ended early");
                Err(LoginFailure::Interrupted)
            }
        }
    }
}

impl LoginFailure {
    /// The response, in the format of the API that the path belongs to.
    pub fn into_response(self, parts: &Parts) -> Response<Body> {
        let (status, message, retry_after) = match self {
            Self::Header(error) => (StatusCode::UNAUTHORIZED, error.to_string(), None),
            Self::SeveralHeaders => {
                let message = "the request has more than one Authorization header";
                (StatusCode::BAD_REQUEST, message.to_owned(), None)
            }
            Self::Interrupted => {
                let message = "the login ended early".to_owned();
                (StatusCode::INTERNAL_SERVER_ERROR, message, None)
            }
            Self::Refused(error) => {
                let (status, retry_after) = status_of(&error);
                (status, error.to_string(), retry_after)
            }
        };
        tracing::debug!(
            target: "espalier::access",
            method = %parts.method,
            path = parts.uri.path(),
            status = status.as_u16(),
            reason = message,
        );
        let mut response = early_error_response(parts, status, &message);
        let headers = response.headers_mut();
        if status == StatusCode::UNAUTHORIZED {
            for challenge in CHALLENGES {
                headers.append(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
            }
        }
        if let Some(wait) = retry_after {
            // Rounded up, so that the client does not come too early.
            headers.insert(RETRY_AFTER, HeaderValue::from(wait.as_secs() + 1));
        }
        response
    }
}

fn status_of(error: &AuthenticationError) -> (StatusCode, Option<Duration>) {
    match error {
        AuthenticationError::TooManyFailures { retry_after } => {
            (StatusCode::TOO_MANY_REQUESTS, Some(*retry_after))
        }
        AuthenticationError::Busy
        | AuthenticationError::Store(_)
        | AuthenticationError::Groups(_)
        | AuthenticationError::Configuration(_) => {
            (StatusCode::SERVICE_UNAVAILABLE, Some(BUSY_RETRY))
        }
        _ => (StatusCode::UNAUTHORIZED, None),
    }
}
