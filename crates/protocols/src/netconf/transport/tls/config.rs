//! The configuration of TLS.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::NoServerSessionStorage;

use crate::server::Tls;

/// The configuration for NETCONF at present; `None` if clients need no certificate. Sessions of TLS are not resumed: a resumed one
/// would keep a certificate that has expired since, and there are no early data.
pub(super) fn config(tls: &Tls) -> Option<Arc<ServerConfig>> {
    let tls = tls.config();
    tls.client_authorities.first()?;
    let mut config = ServerConfig::clone(&tls.server);
    // RFC 7589 has no name for ALPN.
    config.alpn_protocols.clear();
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config.max_early_data_size = 0;
    Some(Arc::new(config))
}
