//! Sessions over a Unix socket: the user of the client's process is the user.

use std::time::Duration;

use espalier_service::Door;
use espalier_service::identity::{Credentials, Peer};
use espalier_service::session::Transport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{UnixListener, UnixStream};

use super::connections::Connection;
use super::context::TransportContext;
use super::login::log_in;
use super::session_runner::SessionRunner;

/// The delay after the system failed to accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The door of local clients.
const DOOR: Door = Door {
    transport: Transport::NetconfLocal,
    peer: Peer::Local,
};

/// Serves the connections to a Unix socket, until [`TransportContext::shut_down`].
pub async fn serve_unix_socket<R: SessionRunner>(
    listener: UnixListener,
    context: TransportContext<R>,
) {
    let mut closing = std::pin::pin!(context.closing());
    loop {
        let accepted = tokio::select! {
            () = &mut closing => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => serve(stream, &context),
            Err(error) => {
                tracing::warn!(%error, "a connection to the Unix socket could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn serve<R: SessionRunner>(stream: UnixStream, context: &TransportContext<R>) {
    let uid = match stream.peer_cred() {
        Ok(credentials) => credentials.uid(),
        Err(error) => {
            tracing::warn!(%error, "the user of a connection to the Unix socket is not known");
            return;
        }
    };
    match context.admit_connection(Peer::Local) {
        Ok(connection) => {
            let context = context.clone();
            tokio::spawn(async move { serve_local(stream, uid, &connection, &context).await });
        }
        Err(error) => tracing::warn!(%error, "a connection to the Unix socket was refused"),
    }
}

/// Serves a stream whose other end belongs to a user of this machine.
pub(super) async fn serve_local<R, S>(
    stream: S,
    uid: u32,
    connection: &Connection,
    context: &TransportContext<R>,
) where
    R: SessionRunner,
    S: AsyncRead + AsyncWrite + Unpin + Send + Sync + 'static,
{
    let credentials = Credentials::UnixPeer { uid };
    let caller = log_in(context.service(), credentials, DOOR, connection).await;
    if let Some(caller) = caller {
        let session = context.serve_session(caller, DOOR, stream, connection);
        session.await;
    }
}
