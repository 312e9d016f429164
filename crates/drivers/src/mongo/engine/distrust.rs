//! Servers that are not trusted, as the client's heartbeats find out: whoever asks for something only
//! learns that there is no server.

use std::collections::BTreeMap;
use std::time::Instant;

use mongodb::error::ErrorKind as Mongo;
use mongodb::event::sdam::SdamEvent;
use parking_lot::Mutex;

use crate::tls_hints::{OPTION_NAMES, certificate_hint};

/// What the latest heartbeat of each server said of its certificate, or of ours.
#[derive(Default)]
pub(super) struct Distrust {
    servers: Mutex<BTreeMap<String, Option<Problem>>>,
}

/// Why there is no trust.
struct Problem {
    words: String,
    found: Instant,
}

impl Distrust {
    /// Learns from what happens to the servers.
    pub(super) fn learn(&self, event: &SdamEvent) {
        let (address, words) = match event {
            SdamEvent::ServerOpening(server) => (&server.address, None),
            SdamEvent::ServerHeartbeatSucceeded(beat) => (&beat.server_address, None),
            SdamEvent::ServerHeartbeatFailed(beat) => (&beat.server_address, of(&beat.failure)),
            SdamEvent::ServerClosed(server) => {
                self.servers.lock().remove(&server.address.to_string());
                return;
            }
            _ => return,
        };
        let found = Instant::now();
        let problem = words.map(|words| Problem { words, found });
        self.servers.lock().insert(address.to_string(), problem);
    }

    /// Why there is no server that is trusted, where that was found out since a time.
    pub(super) fn of_all(&self, since: Instant) -> Option<String> {
        let servers = self.servers.lock();
        let mut words = None;
        for server in servers.values() {
            let problem = server.as_ref().filter(|problem| problem.found >= since)?;
            words = Some(problem.words.clone());
        }
        words
    }
}

/// Why there is no trust, where that is what an error is about. Nothing was asked then.
pub(super) fn of(error: &mongodb::error::Error) -> Option<String> {
    match &*error.kind {
        Mongo::Io(io) => certificate_hint(&**io, &OPTION_NAMES),
        _ => None,
    }
}
