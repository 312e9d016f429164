//! NETCONF over the transports that the settings name.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use espalier_protocols::anchors::ServedAnchors;
use espalier_protocols::netconf::transport::ssh::{HostKeys, SshTransport};
use espalier_protocols::netconf::transport::tls::TlsTransport;
use espalier_protocols::netconf::transport::{
    CallHome, CallHomeClient, CalledClients, Protocol, TransportContext, TransportLimits,
    serve_listener, serve_unix_socket,
};
use espalier_protocols::netconf::{NetconfLimits, NetconfServer, UrlAccess, UrlSettings};
use espalier_protocols::server::Tls;
use espalier_service::Service;
use espalier_terminal::{Failure, Result};
use serde_json::{Map, Value as Json};
use tokio::net::{TcpListener, lookup_host};

use crate::commands::serve::call_home_text;
use crate::commands::serve::listen_options;
use crate::commands::serve::unix_socket::UnixSocket;
use crate::settings::Settings;

/// The folder of the host keys without `--netconf-host-keys`.
const HOST_KEYS_DEFAULT: &str = "ssh-host-keys";

/// What NETCONF is served on, before the store is opened: a wrong setting changes nothing.
pub struct NetconfListeners {
    ssh: Option<TcpListener>,
    tls: Option<TcpListener>,
    socket: Option<UnixSocket>,
    host_keys: Option<HostKeys>,
    tls_config: Option<Tls>,
    clients: Vec<CallHomeClient>,
    urls: UrlAccess,
}

/// NETCONF that is served.
pub struct ServedNetconf {
    reloaded: ReloadedNetconf,
    service: Service,
    server: NetconfServer,
    context: TransportContext<NetconfServer>,
    addresses: Map<String, Json>,
    /// Its file is removed at the end.
    _socket: Option<UnixSocket>,
}

impl NetconfListeners {
    /// Listens, and reads the keys and certificates. `None` if the settings do not name NETCONF.
    ///
    /// # Errors
    /// A setting is wrong, or lacks another one; an address or a file cannot be used.
    pub async fn bind(settings: &Settings) -> Result<Option<Self>> {
        let clients = clients_to_call(settings)?;
        let is_called = |protocol| {
            let mut endpoints = clients.iter().flat_map(|client| &client.endpoints);
            endpoints.any(|endpoint| endpoint.protocol == protocol)
        };
        let has_ssh = settings.netconf_ssh.is_some() || is_called(Protocol::Ssh);
        let has_tls = settings.netconf_tls.is_some() || is_called(Protocol::Tls);
        if !has_ssh && !has_tls && settings.netconf_socket.is_none() {
            return Ok(None);
        }
        Ok(Some(Self {
            ssh: listen("--netconf-ssh", settings.netconf_ssh.as_deref()).await?,
            tls: listen("--netconf-tls", settings.netconf_tls.as_deref()).await?,
            socket: match &settings.netconf_socket {
                Some(path) => Some(UnixSocket::bind_to("--netconf-socket", path, settings)?),
                None => None,
            },
            host_keys: has_ssh.then(|| host_keys(settings)).transpose()?,
            tls_config: has_tls
                .then(|| listen_options::netconf_tls(settings))
                .transpose()?,
            clients,
            urls: urls(settings)?,
        }))
    }

    /// The TLS of its listener and of call home.
    pub fn tls(&self) -> Option<&Tls> {
        self.tls_config.as_ref()
    }

    /// Serves the anchors, in tasks of the runtime that calls this.
    ///
    /// # Errors
    /// An address cannot be read, or a socket cannot be used; those of the store.
    pub fn serve(self, anchors: ServedAnchors, service: Service) -> Result<ServedNetconf> {
        service.announce_presence()?;
        let server = NetconfServer::with_urls(anchors, NetconfLimits::default(), self.urls);
        let limits = TransportLimits::default();
        let context = TransportContext::new(service.clone(), server.clone(), limits);
        let keys = self.host_keys.as_ref();
        let ssh = keys.map(|keys| SshTransport::new(context.clone(), keys));
        let tls = self.tls_config.clone();
        let tls = tls.and_then(|tls| TlsTransport::new(context.clone(), tls));
        let mut addresses = Map::new();
        let mut add = |name: &str, listener: &TcpListener| -> io::Result<()> {
            let address = listener.local_addr()?.to_string();
            tracing::info!(address, "serving NETCONF over {name}");
            addresses.insert(name.to_owned(), Json::from(address));
            Ok(())
        };
        if let (Some(listener), Some(transport)) = (self.ssh, &ssh) {
            add("ssh", &listener)?;
            tokio::spawn(serve_listener(listener, transport.clone()));
        }
        if let (Some(listener), Some(transport)) = (self.tls, &tls) {
            add("tls", &listener)?;
            tokio::spawn(serve_listener(listener, transport.clone()));
        }
        if let Some(socket) = &self.socket {
            let path = socket.path().display().to_string();
            tracing::info!(path, "serving NETCONF on a Unix socket");
            addresses.insert("socket".to_owned(), Json::from(path));
            tokio::spawn(serve_unix_socket(socket.listener()?, context.clone()));
        }
        if !self.clients.is_empty() {
            // A store that cannot be written to is served as well.
            if let Err(error) = service.prepare_subscriptions() {
                tracing::warn!(%error, "the server anchor has no configured subscriptions");
            }
        }
        let call_home = CallHome::new(context.clone(), ssh.clone(), tls);
        let clients = CalledClients::new(call_home);
        clients
            .replace(self.clients)
            .map_err(|error| Failure::usage(error.to_string()))?;
        let reloaded = ReloadedNetconf {
            ssh,
            tls: self.tls_config,
            clients: Arc::new(clients),
        };
        Ok(ServedNetconf {
            reloaded,
            service,
            server,
            context,
            addresses,
            _socket: self.socket,
        })
    }
}

/// What can be replaced while NETCONF is served.
#[derive(Clone)]
pub struct ReloadedNetconf {
    ssh: Option<SshTransport<NetconfServer>>,
    tls: Option<Tls>,
    clients: Arc<CalledClients<NetconfServer>>,
}

impl ReloadedNetconf {
    /// Reads the host keys, certificates and clients to call of these settings, and uses them for new connections.
    /// Returns the authorities of client certificates, in DER.
    ///
    /// # Errors
    /// A file or a setting is wrong; nothing was replaced.
    pub fn reload(&self, settings: &Settings) -> Result<Vec<Vec<u8>>> {
        let clients = clients_to_call(settings)?;
        let keys = match &self.ssh {
            Some(ssh) => Some((ssh, host_keys(settings)?)),
            None => None,
        };
        let tls = match &self.tls {
            Some(tls) => Some((tls, listen_options::netconf_tls(settings)?)),
            None => None,
        };
        let replaced = self.clients.replace(clients);
        replaced.map_err(|error| {
            Failure::usage(format!("--netconf-call-home: {error}")).hint("restart the server")
        })?;
        if let Some((ssh, keys)) = keys {
            ssh.replace_keys(&keys);
        }
        Ok(match tls {
            Some((served, tls)) => {
                served.replace(&tls);
                tls.client_authorities()
            }
            None => Vec::new(),
        })
    }
}

impl ServedNetconf {
    /// What can be replaced.
    pub fn reloaded(&self) -> ReloadedNetconf {
        self.reloaded.clone()
    }

    /// What it is served on, by transport.
    pub fn addresses(&self) -> &Map<String, Json> {
        &self.addresses
    }

    /// Ends all sessions and connections.
    pub async fn shut_down(&self) {
        self.server.end();
        self.context.shut_down().await;
        if let Err(error) = self.service.end_presence() {
            tracing::warn!(%error, "the end of this server is not recorded");
        }
    }
}

fn clients_to_call(settings: &Settings) -> Result<Vec<CallHomeClient>> {
    let clients = settings.netconf_call_home.iter();
    clients.map(|text| call_home_text::parse(text)).collect()
}

/// Listens on the address of an option, if it is given.
async fn listen(option: &str, address: Option<&str>) -> Result<Option<TcpListener>> {
    let Some(address) = address else {
        return Ok(None);
    };
    let failed =
        |error: io::Error| Failure::data(format!("{option}: cannot listen on {address}: {error}"));
    let addresses: Vec<SocketAddr> = lookup_host(address).await.map_err(failed)?.collect();
    let listener = TcpListener::bind(&addresses[..]).await;
    listener.map(Some).map_err(failed)
}

fn urls(settings: &Settings) -> Result<UrlAccess> {
    let urls = UrlSettings {
        folder: settings.netconf_url_dir.clone(),
        https: settings.netconf_url_https.clone(),
        https_authorities: settings.netconf_url_ca.clone(),
    };
    UrlAccess::new(&urls).map_err(|error| match &urls.folder {
        Some(folder) if error.kind() == io::ErrorKind::NotFound => {
            let message = format!("--netconf-url-dir {}: {error}", folder.display());
            Failure::usage(message).hint("create the folder")
        }
        _ => Failure::usage(format!(
            "--netconf-url-dir, --netconf-url-https, --netconf-url-ca: {error}"
        )),
    })
}

fn host_keys(settings: &Settings) -> Result<HostKeys> {
    let default = || PathBuf::from(HOST_KEYS_DEFAULT);
    let folder = settings.netconf_host_keys.clone().unwrap_or_else(default);
    let keys = HostKeys::open(&folder).map_err(|error| {
        let message = format!("--netconf-host-keys: {error}");
        Failure::usage(message).in_file(Path::new(&folder).display())
    })?;
    for fingerprint in keys.fingerprints() {
        tracing::info!(fingerprint, "SSH host key");
    }
    Ok(keys)
}
