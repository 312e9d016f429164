//! TLS failures of the client's heartbeats: the error of a request only reports that no server is available.

use std::collections::BTreeMap;
use std::time::Instant;

use mongodb::error::ErrorKind as Mongo;
use mongodb::event::sdam::SdamEvent;
use parking_lot::Mutex;

use crate::tls_hints::{OPTION_NAMES, certificate_hint};

/// The TLS failure, if any, of the latest heartbeat of each server.
#[derive(Default)]
pub(super) struct TlsFailures {
    servers: Mutex<BTreeMap<String, Option<TlsFailure>>>,
}

/// Why a TLS handshake failed, and when.
struct TlsFailure {
    reason: String,
    at: Instant,
}

impl TlsFailures {
    /// Records an event about a server.
    pub(super) fn record(&self, event: &SdamEvent) {
        let (address, reason) = match event {
            SdamEvent::ServerOpening(server) => (&server.address, None),
            SdamEvent::ServerHeartbeatSucceeded(beat) => (&beat.server_address, None),
            SdamEvent::ServerHeartbeatFailed(beat) => {
                (&beat.server_address, tls_failure(&beat.failure))
            }
            SdamEvent::ServerClosed(server) => {
                self.servers.lock().remove(&server.address.to_string());
                return;
            }
            _ => return,
        };
        let at = Instant::now();
        let failure = reason.map(|reason| TlsFailure { reason, at });
        self.servers.lock().insert(address.to_string(), failure);
    }

    /// The reason of a failure, if the handshakes with all servers have failed since a time.
    pub(super) fn since(&self, since: Instant) -> Option<String> {
        let servers = self.servers.lock();
        let mut reason = None;
        for server in servers.values() {
            let failure = server.as_ref().filter(|failure| failure.at >= since)?;
            reason = Some(failure.reason.clone());
        }
        reason
    }
}

/// The reason of a TLS failure; `None` for other errors. No request was sent in that case.
pub(super) fn tls_failure(error: &mongodb::error::Error) -> Option<String> {
    match &*error.kind {
        Mongo::Io(io) => certificate_hint(&**io, &OPTION_NAMES),
        _ => None,
    }
}
