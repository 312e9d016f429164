//! The client of the `mongodb` crate: its options, and its events about connections.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use espalier_keyspace::{Error, ErrorKind, Result};
use mongodb::Client;
use mongodb::event::EventHandler;
use mongodb::event::cmap::CmapEvent;
use mongodb::options::{ClientOptions, Credential, ServerAddress, TlsOptions};

use super::error::RequestFailure;
use super::tls_failures::TlsFailures;
use crate::credentials::{Identity, read};
use crate::mongo::NAME;
use crate::mongo::config::Config;

/// Maximum number of connections of one process.
const CONNECTIONS_MAX: u32 = 32;

/// How long one attempt looks for a server before it fails with the reason.
const SELECTION: Duration = Duration::from_secs(1);

/// The state of the connections, from the client's events.
#[derive(Default)]
pub(super) struct ConnectionHealth {
    /// How often connections were lost. After each loss, the server may have restarted, or another one may be
    /// the primary.
    pub(super) interruptions: AtomicU64,
    pub(super) tls_failures: TlsFailures,
}

/// Creates a client, which connects in the background.
pub(super) fn client(config: &Config, health: &Arc<ConnectionHealth>) -> Result<Client> {
    let mut options = options(config);
    let identity_file = match &config.tls {
        Some(tls) => {
            let identity = tls.identity(NAME)?.map(IdentityFile::of).transpose()?;
            let path = identity.as_ref().map(|identity| identity.path.clone());
            let tls = TlsOptions::builder()
                .ca_file_path(tls.ca.clone())
                .cert_key_file_path(path)
                .build();
            options.tls = Some(tls.into());
            identity
        }
        None => None,
    };
    let of_pool = Arc::clone(health);
    options.cmap_event_handler = Some(EventHandler::callback(move |event| {
        if matches!(event, CmapEvent::PoolCleared(_)) {
            of_pool.interruptions.fetch_add(1, Ordering::AcqRel);
        }
    }));
    let of_servers = Arc::clone(health);
    options.sdam_event_handler = Some(EventHandler::callback(move |event| {
        of_servers.tls_failures.record(&event);
    }));
    let client = Client::with_options(options);
    // The client has read the file.
    drop(identity_file);
    client.map_err(|error| RequestFailure::of(&config.servers.shown(), &error).error)
}

fn options(config: &Config) -> ClientOptions {
    let servers = config.servers.hosts.iter();
    let hosts: Vec<_> = servers
        .map(|(host, port)| ServerAddress::Tcp {
            host: host.clone(),
            port: Some(*port),
        })
        .collect();
    let mut options = ClientOptions::builder()
        .hosts(hosts)
        .app_name("espalier".to_owned())
        .connect_timeout(config.timeout)
        .server_selection_timeout(config.timeout.min(SELECTION))
        .max_pool_size(CONNECTIONS_MAX)
        .retry_reads(false)
        .retry_writes(false)
        .build();
    options.repl_set_name.clone_from(&config.replica_set);
    if let Some(user) = &config.servers.user {
        let source = config.auth_source.clone();
        options.credential = Some(
            Credential::builder()
                .username(user.clone())
                .password(config.servers.password.clone())
                .source(source.unwrap_or_else(|| "admin".to_owned()))
                .build(),
        );
    }
    options
}

/// The client certificate and its key in one file, as the `mongodb` crate requires.
struct IdentityFile {
    path: PathBuf,
    /// Keeps an in-memory file open.
    _file: Option<File>,
}

impl IdentityFile {
    fn of(Identity { certificate, key }: Identity) -> Result<Self> {
        if certificate == key {
            return Ok(Self {
                path: certificate,
                _file: None,
            });
        }
        Self::in_memory(&[read(&certificate)?, b"\n".to_vec(), read(&key)?].concat())
    }

    /// Joins both in an anonymous file in memory, so that no key is written to a disk.
    #[cfg(target_os = "linux")]
    fn in_memory(bytes: &[u8]) -> Result<Self> {
        use std::io::Write;
        use std::os::fd::AsRawFd;

        use rustix::fs::{MemfdFlags, memfd_create};

        let memory = memfd_create(c"espalier-identity", MemfdFlags::CLOEXEC);
        let written = memory.map_err(std::io::Error::from).and_then(|memory| {
            let mut file = File::from(memory);
            file.write_all(bytes)?;
            Ok(file)
        });
        let file = written.map_err(|error| {
            Error::new(ErrorKind::Engine, "cannot create a file in memory").with_source(error)
        })?;
        Ok(Self {
            path: format!("/proc/self/fd/{}", file.as_raw_fd()).into(),
            _file: Some(file),
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn in_memory(_bytes: &[u8]) -> Result<Self> {
        let message = "mongodb: put the certificate and the key into one file, and use it as both cert and key";
        Err(Error::new(ErrorKind::Engine, message))
    }
}
