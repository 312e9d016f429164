//! From the credentials of a client to its user.

use espalier_service::access::Caller;
use espalier_service::identity::{AuthenticationError, Credentials};
use espalier_service::{Door, Login, Service};

use super::connections::Connection;

/// Authenticates the client of a connection and records its login in the audit log; `None` if it is rejected, which is
/// recorded too. The connection is closed when the login is not valid any more.
pub(super) async fn log_in(
    service: &Service,
    credentials: Credentials,
    door: Door,
    connection: &Connection,
) -> Option<Caller> {
    let login = Login::begin(service, credentials, door);
    let (service, signal) = (service.clone(), connection.signal().clone());
    // Computes password hashes and reads from the engine.
    let verified = move || login.complete(&service, move || signal.close());
    match tokio::task::spawn_blocking(verified).await {
        Ok(Ok((caller, login))) => {
            connection.set_authenticated(login);
            Some(caller)
        }
        // That the client has presented nothing is usual: it looks for the methods that are accepted.
        Ok(Err(AuthenticationError::Required)) => None,
        Ok(Err(error)) => {
            tracing::info!(transport = door.transport.name(), peer = ?door.peer, %error, "a login failed");
            None
        }
        Err(error) => {
            tracing::error!(%error, "a login ended early");
            None
        }
    }
}
