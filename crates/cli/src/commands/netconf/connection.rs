//! Options of the connection.

use std::env;
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use espalier_protocols::netconf::{BASE_1_0, BASE_1_1};
use espalier_protocols::netconf_client::operations::PRIVATE_CANDIDATE;
use espalier_protocols::netconf_client::{
    ClientLimits, ConnectOptions, HostKeyPolicy, PasswordPrompt, SshOptions, Target, TlsOptions,
};
use espalier_terminal::{Failure, PASSWORD_BYTES_MAX, Result, read_password};
use tokio::runtime::Runtime;

use crate::endpoint::client_tls;
use crate::settings::Settings;

/// The file of OpenSSH with the host keys of a machine.
const SYSTEM_KNOWN_HOSTS: &str = "/etc/ssh/ssh_known_hosts";

/// The names of private keys in `~/.ssh`.
const DEFAULT_KEYS: [&str; 3] = ["id_ed25519", "id_ecdsa", "id_rsa"];

/// How a command connects.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Connection")]
pub struct ConnectionOptions {
    /// The user, if the target has none [env: ESPALIER_USER] [default: the name of the login]
    #[arg(long, global = true, value_name = "NAME")]
    user: Option<String>,

    /// A file whose first line is the password
    #[arg(long, global = true, value_name = "FILE")]
    password_file: Option<PathBuf>,

    /// A private key of OpenSSH's format. May be repeated
    #[arg(long, global = true, value_name = "FILE")]
    identity: Vec<PathBuf>,

    /// Do not use the keys of the SSH agent, nor those in ~/.ssh
    #[arg(long, global = true)]
    no_default_keys: bool,

    /// The file of host keys [default: ~/.ssh/known_hosts, /etc/ssh/ssh_known_hosts]
    #[arg(long, global = true, value_name = "FILE")]
    known_hosts: Option<PathBuf>,

    /// The name of the host in known_hosts, as for a server that calls home
    #[arg(long, global = true, value_name = "NAME")]
    host_key_alias: Option<String>,

    /// Add the key of a host that is not in known_hosts
    #[arg(long, global = true, conflicts_with = "any_host_key")]
    accept_new_host_key: bool,

    /// Accept any host key: the network can then read and change everything
    #[arg(long, global = true)]
    any_host_key: bool,

    /// For TLS: the authority of the server's certificate, or this certificate, PEM [env: ESPALIER_SERVER_CA]
    #[arg(long, global = true, value_name = "FILE")]
    server_ca: Option<PathBuf>,

    /// For TLS: the client certificate, PEM [env: ESPALIER_CLIENT_CERT]
    #[arg(long, global = true, value_name = "FILE")]
    client_cert: Option<PathBuf>,

    /// For TLS: its key, PEM [env: ESPALIER_CLIENT_KEY]
    #[arg(long, global = true, value_name = "FILE")]
    client_key: Option<PathBuf>,

    /// For TLS: the name in the server's certificate, if it is not the host
    #[arg(long, global = true, value_name = "NAME")]
    tls_server_name: Option<String>,

    /// Announce only this version of the protocol
    #[arg(long, global = true, value_name = "VERSION", value_parser = ["1.0", "1.1"])]
    base: Option<String>,

    /// Use a candidate of this session's own (draft-ietf-netconf-privcand); an error if the server has none
    #[arg(long, global = true)]
    private_candidate: bool,

    /// The longest wait for the connection and the hello, in seconds [default: 30; for a server that calls home: no limit]
    #[arg(long, global = true, value_name = "SECONDS",
        value_parser = clap::value_parser!(u64).range(1..=86400))]
    connect_timeout: Option<u64>,

    /// The longest wait for a reply, in seconds; 0 for no limit
    #[arg(long, global = true, value_name = "SECONDS", default_value = "300")]
    reply_timeout: u64,

    /// The modules of the server, for output as JSON: files, folders or names; by default they are fetched from it
    #[arg(long, global = true, value_name = "FILE|DIR|NAME")]
    yang: Vec<String>,
}

/// What connects.
pub struct Client {
    pub runtime: Arc<Runtime>,
    pub options: Arc<ConnectOptions>,
    /// Where modules are.
    pub yang: Arc<[String]>,
}

impl Clone for Client {
    fn clone(&self) -> Self {
        Self {
            runtime: Arc::clone(&self.runtime),
            options: Arc::clone(&self.options),
            yang: Arc::clone(&self.yang),
        }
    }
}

impl Client {
    /// The server of a command.
    ///
    /// # Errors
    /// There is none.
    pub fn target(&self, target: Option<&str>, settings: &Settings) -> Result<Target> {
        match (target, &settings.netconf_socket) {
            (Some(text), _) => self.parse_target(text),
            (None, Some(path)) => Ok(Target::Unix(path.clone())),
            (None, None) => Err(Failure::usage("there is no server")
                .hint("name it before the operation: espalier netconf HOST hello")),
        }
    }

    /// The server of a text.
    ///
    /// # Errors
    /// The text is wrong.
    pub fn parse_target(&self, text: &str) -> Result<Target> {
        let target = text.parse::<Target>();
        let target = target.map_err(|error| Failure::usage(error.to_string()))?;
        if matches!(target, Target::Tls(_) | Target::CallHomeTls(_)) && self.options.tls.is_none() {
            let message = "TLS needs the authority of the server, and a certificate of the client";
            return Err(Failure::usage(message)
                .hint("add --server-ca FILE, --client-cert FILE and --client-key FILE"));
        }
        Ok(target)
    }
}

impl ConnectionOptions {
    /// What connects, with these options.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn client(&self, settings: &Settings) -> Result<Client> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        let yang = match self.yang.is_empty() {
            true => settings.yang.clone(),
            false => self.yang.clone(),
        };
        let mut capabilities = match self.base.as_deref() {
            Some("1.0") => vec![BASE_1_0.to_owned()],
            Some(_) => vec![BASE_1_1.to_owned()],
            None => vec![BASE_1_0.to_owned(), BASE_1_1.to_owned()],
        };
        if self.private_candidate {
            capabilities.push(PRIVATE_CANDIDATE.to_owned());
        }
        let given = self.connect_timeout.map(Duration::from_secs);
        let connect_time_max = given.unwrap_or(ClientLimits::default().connect_time_max);
        let options = ConnectOptions {
            ssh: self.ssh(settings)?,
            tls: self.tls(settings)?,
            limits: ClientLimits {
                connect_time_max,
                call_home_time_max: given,
                hello_time_max: connect_time_max,
                reply_time_max: (self.reply_timeout > 0)
                    .then(|| Duration::from_secs(self.reply_timeout)),
                ..ClientLimits::default()
            },
            capabilities,
        };
        Ok(Client {
            runtime: Arc::new(runtime),
            options: Arc::new(options),
            yang: yang.into(),
        })
    }

    fn ssh(&self, settings: &Settings) -> Result<SshOptions> {
        let folder = env::home_dir().map(|home| home.join(".ssh"));
        let in_folder = |name: &str| folder.as_ref().map(|folder| folder.join(name));
        let password = match &self.password_file {
            Some(file) => Some(first_line(file)?),
            None => settings
                .password
                .as_ref()
                .map(|password| password.0.clone()),
        };
        let user = self.user.clone().or(settings.user.clone());
        let login = || {
            ["USER", "LOGNAME"]
                .iter()
                .find_map(|name| env::var(name).ok())
        };
        let has_defaults = !self.no_default_keys;
        let agent = env::var_os("SSH_AUTH_SOCK").filter(|path| has_defaults && !path.is_empty());
        let default_identities = DEFAULT_KEYS.iter().filter_map(|name| in_folder(name));
        let known_hosts = match &self.known_hosts {
            Some(file) => vec![file.clone()],
            None => in_folder("known_hosts")
                .into_iter()
                .chain([PathBuf::from(SYSTEM_KNOWN_HOSTS)])
                .collect(),
        };
        // Standard input has the commands of a script, or a document.
        let prompt = std::io::stdin()
            .is_terminal()
            .then(|| -> PasswordPrompt { Arc::new(read_password) });
        Ok(SshOptions {
            user: user.or_else(login).unwrap_or_default(),
            password,
            prompt,
            identities: self.identity.clone(),
            default_identities: match has_defaults {
                true => default_identities.collect(),
                false => Vec::new(),
            },
            agent: agent.map(PathBuf::from),
            known_hosts,
            host_key_alias: self.host_key_alias.clone(),
            host_key_policy: match (self.accept_new_host_key, self.any_host_key) {
                (_, true) => HostKeyPolicy::Any,
                (true, false) => HostKeyPolicy::AcceptNew,
                (false, false) => HostKeyPolicy::Known,
            },
        })
    }

    fn tls(&self, settings: &Settings) -> Result<Option<TlsOptions>> {
        let settings = Settings {
            server_ca: self.server_ca.clone().or(settings.server_ca.clone()),
            client_cert: self.client_cert.clone().or(settings.client_cert.clone()),
            client_key: self.client_key.clone().or(settings.client_key.clone()),
            ..Settings::default()
        };
        let config = client_tls(&settings)?;
        Ok(config.map(|config| TlsOptions {
            config,
            server_name: self.tls_server_name.clone(),
        }))
    }
}

/// The first line of a file with a password.
fn first_line(file: &Path) -> Result<String> {
    let mut text = String::new();
    let read = File::open(file).and_then(|file| {
        let mut limited = file.take(PASSWORD_BYTES_MAX);
        limited.read_to_string(&mut text)
    });
    read.map_err(|error| {
        Failure::usage(format!("--password-file: this cannot be read: {error}"))
            .in_file(file.display())
    })?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
