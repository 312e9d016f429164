//! A session over the standard streams of this process, as for `Subsystem netconf` of OpenSSH's server.

use espalier_service::identity::Peer;
use rustix::process::getuid;
use tokio::io::{join, stdin, stdout};

use super::connections::ConnectionRefused;
use super::context::TransportContext;
use super::session_runner::SessionRunner;
use super::unix::serve_local;

/// Serves a session on standard input and output, and returns at its end. Its user is that of the process; the program that
/// started the process has authenticated the client.
///
/// # Errors
/// The limits permit no connection.
pub async fn serve_standard_streams<R: SessionRunner>(
    context: &TransportContext<R>,
) -> Result<(), ConnectionRefused> {
    let connection = context.admit_connection(Peer::Local)?;
    let stream = join(stdin(), stdout());
    serve_local(stream, getuid().as_raw(), &connection, context).await;
    Ok(())
}
