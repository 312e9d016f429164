//! The client of the `mongodb` crate: what it is told of the servers, and what it tells of them.

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

use super::distrust::Distrust;
use super::error::Trouble;
use crate::credentials::{Identity, read};
use crate::mongo::NAME;
use crate::mongo::config::Config;

/// Connections of one process at most.
const CONNECTIONS_MAX: u32 = 32;

/// The longest that one attempt looks for a server; then it is told why there is none.
const SELECTION: Duration = Duration::from_secs(1);

/// What the client tells of its connections.
#[derive(Default)]
pub(super) struct Watched {
    /// How often connections were lost: the server may have been restarted, or another one be asked.
    pub(super) interruptions: AtomicU64,
    pub(super) distrust: Distrust,
}

/// Makes a client, which connects by itself.
pub(super) fn client(config: &Config, watched: &Arc<Watched>) -> Result<Client> {
    let mut options = options(config);
    let joined = match &config.tls {
        Some(tls) => {
            let identity = tls.identity(NAME)?.map(OneFile::of).transpose()?;
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
    let of_pool = Arc::clone(watched);
    options.cmap_event_handler = Some(EventHandler::callback(move |event| {
        if matches!(event, CmapEvent::PoolCleared(_)) {
            of_pool.interruptions.fetch_add(1, Ordering::AcqRel);
        }
    }));
    let of_servers = Arc::clone(watched);
    options.sdam_event_handler = Some(EventHandler::callback(move |event| {
        of_servers.distrust.learn(&event);
    }));
    let client = Client::with_options(options);
    // The files were read.
    drop(joined);
    client.map_err(|error| Trouble::of(&config.servers.shown(), &error).error)
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

/// Our certificate and its key in one file, as the crate reads them.
struct OneFile {
    path: PathBuf,
    /// The file, where it is one that only this process has.
    _file: Option<File>,
}

impl OneFile {
    fn of(Identity { certificate, key }: Identity) -> Result<Self> {
        if certificate == key {
            return Ok(Self {
                path: certificate,
                _file: None,
            });
        }
        Self::in_memory(&[read(&certificate)?, b"\n".to_vec(), read(&key)?].concat())
    }

    /// No key is written to a disk for this.
    #[cfg(target_os = "linux")]
    fn in_memory(bytes: &[u8]) -> Result<Self> {
        use std::io::Write;
        use std::os::fd::AsRawFd;

        use rustix::fs::{MemfdFlags, memfd_create};

        let made = memfd_create(c"espalier-identity", MemfdFlags::CLOEXEC);
        let written = made.map_err(std::io::Error::from).and_then(|made| {
            let mut file = File::from(made);
            file.write_all(bytes)?;
            Ok(file)
        });
        let file = written.map_err(|error| {
            Error::new(ErrorKind::Engine, "cannot hold a file in memory").with_source(error)
        })?;
        Ok(Self {
            path: format!("/proc/self/fd/{}", file.as_raw_fd()).into(),
            _file: Some(file),
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn in_memory(_bytes: &[u8]) -> Result<Self> {
        let message = "mongodb: put certificate and key into one file, and name it as cert and key";
        Err(Error::new(ErrorKind::Engine, message))
    }
}
