//! A NETCONF session with a server, for tests of what remains when one of both is gone.

use std::path::Path;
use std::time::{Duration, Instant};

use espalier_protocols::netconf_client::{
    ClientError, ConnectOptions, Notifications, Session, connect,
};
use tokio::runtime::Runtime;
use tokio::time::timeout;

/// A longer time than anything here takes.
pub const WAIT_MAX: Duration = Duration::from_secs(60);

/// A session over a Unix socket.
pub struct NetconfSession {
    runtime: Runtime,
    session: Session,
}

impl NetconfSession {
    pub fn open(socket: &Path) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build();
        let runtime = runtime.expect("a runtime");
        let target = format!("unix:{}", socket.display());
        let target = target.parse().expect("a target");
        let session = runtime.block_on(connect(&target, &ConnectOptions::default()));
        Self {
            session: session.expect("a session"),
            runtime,
        }
    }

    /// The text of the reply.
    pub fn request(&self, operation: &str) -> Result<String, ClientError> {
        let reply = self.runtime.block_on(self.session.request(operation))?;
        Ok(reply.text().to_owned())
    }

    pub fn ok(&self, operation: &str) -> String {
        let reply = self.request(operation);
        reply.unwrap_or_else(|error| panic!("{operation:.300}: {error}"))
    }

    /// The notifications, which are to be taken once.
    pub fn notifications(&self) -> Notifications {
        self.session.notifications().expect("not taken yet")
    }

    /// The text of the next notification; `None` at the end of the session.
    pub fn next(&self, notifications: &mut Notifications) -> Option<String> {
        let next = async { timeout(WAIT_MAX, notifications.next()).await };
        let next = self.runtime.block_on(next).expect("a notification in time");
        next.ok().map(|one| one.text().to_owned())
    }
}

/// Waits until something is true.
pub fn eventually(what: &str, mut is_true: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_true() {
        assert!(start.elapsed() < WAIT_MAX, "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}
