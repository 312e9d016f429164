//! The configuration of TLS.

use std::sync::Arc;

use espalier_service::Service;
use rustls::ServerConfig;
use rustls::server::NoServerSessionStorage;

use super::pinned::PinnedOrSigned;
use crate::server::Tls;

/// The configuration for NETCONF at present; `None` if clients need no certificate. Sessions of TLS are not resumed: a
/// resumed one would keep a certificate that has expired since, and there are no early data.
pub(super) fn config(tls: &Tls, service: &Service) -> Option<Arc<ServerConfig>> {
    let tls = tls.config();
    let verifier = PinnedOrSigned {
        signed: Arc::clone(tls.client_verifier.as_ref()?),
        service: service.clone(),
    };
    let provider = Arc::clone(tls.server.crypto_provider());
    let builder = ServerConfig::builder_with_provider(provider);
    // An error means that the provider has no cipher of these versions. That of HTTP has.
    let builder = builder.with_safe_default_protocol_versions().ok()?;
    let builder = builder.with_client_cert_verifier(Arc::new(verifier));
    // RFC 7589 has no name for ALPN.
    let mut config = builder.with_cert_resolver(Arc::clone(&tls.server.cert_resolver));
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config.max_early_data_size = 0;
    Some(Arc::new(config))
}
