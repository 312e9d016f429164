//! From the credentials of a client to its user.

use espalier_service::access::Caller;
use espalier_service::identity::{AuthenticationError, Credentials};
use espalier_service::{Door, Service};

/// Authenticates a client and records its login in the audit log; `None` if it is rejected, which is recorded too.
pub(super) async fn log_in(
    service: &Service,
    credentials: Credentials,
    door: Door,
) -> Option<Caller> {
    let service = service.clone();
    // Computes password hashes and reads from the engine.
    let verified = move || -> Result<Caller, AuthenticationError> {
        let caller = service.log_in(&credentials, door)?;
        service.record_login(&caller, door)?;
        Ok(caller)
    };
    match tokio::task::spawn_blocking(verified).await {
        Ok(Ok(caller)) => Some(caller),
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
