//! The options of TCP connections.

use std::io;
use std::time::Duration;

use rustix::net::sockopt;
use tokio::net::TcpStream;

use super::limits::TransportLimits;

/// Sends small messages at once, and detects that a silent peer is gone.
pub(crate) fn set_tcp_options(stream: &TcpStream, limits: &TransportLimits) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let interval = limits.keepalive_interval.max(Duration::from_secs(1));
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, interval)?;
    sockopt::set_tcp_keepintvl(stream, interval)?;
    sockopt::set_tcp_keepcnt(stream, limits.keepalives_unanswered_max.max(1))?;
    Ok(())
}
