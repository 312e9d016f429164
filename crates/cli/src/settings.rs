//! Settings of commands: from flags, then the environment, then a TOML file.

use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use espalier_store::{Datastore, LeafFill};
use serde::Deserialize;

use espalier_terminal::output::Form;
use espalier_terminal::{Failure, Result};

/// The configuration file that is read without `--config`, if it exists.
const DEFAULT_FILE: &str = "espalier.toml";

/// The default dataspace and anchor.
pub const DEFAULT_NAME: &str = "default";

/// The default address to serve on.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:8080";

/// Options that choose the store, or the server.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Where the data is")]
pub struct Connection {
    /// The store to open: `embedded:DIR`, `file:DIR`, `sqlite:FILE`, the URL of another engine, or `memory:`
    /// for a store that ends with the command. `?policy=cached` keeps it in memory (docs/drivers.md)
    /// [env: ESPALIER_STORE]
    #[arg(long, value_name = "URL", conflicts_with = "server")]
    pub store: Option<String>,

    /// The server to work through, as in `http://127.0.0.1:8080`, or its socket, as in `unix:/run/espalier.sock`
    /// [env: ESPALIER_SERVER]
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,

    /// The user to log in as on the server; the password is in ESPALIER_PASSWORD, or is prompted for. Without it, the
    /// token in ESPALIER_TOKEN is used, if there is one [env: ESPALIER_USER]
    #[arg(long, value_name = "NAME", conflicts_with = "store")]
    pub user: Option<String>,

    /// The authority of the server's certificate, or that certificate itself, PEM; by default the public
    /// authorities
    /// [env: ESPALIER_SERVER_CA]
    #[arg(long, value_name = "FILE")]
    pub server_ca: Option<PathBuf>,

    /// The client certificate of this command, PEM [env: ESPALIER_CLIENT_CERT]
    #[arg(long, value_name = "FILE", requires = "client_key")]
    pub client_cert: Option<PathBuf>,

    /// The key of that certificate, PEM [env: ESPALIER_CLIENT_KEY]
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    pub client_key: Option<PathBuf>,
}

/// Where the data is: options that every command with data has.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Where the data is")]
pub struct Access {
    #[command(flatten)]
    pub connection: Connection,

    /// YANG modules: a file, a folder (every .yang file below it) or the name of a built-in IETF
    /// module such as `ietf-ip`. Needed once, because the store keeps its modules. If a command that writes
    /// is given other modules, they replace those of the store; a command that reads rejects them
    /// [env: ESPALIER_YANG, separated by `:`]
    #[arg(long, value_name = "FILE|DIR|NAME")]
    pub yang: Vec<String>,

    /// Implement only this module of those given with --yang, or with --mount if it is written
    /// `MODULE:LABEL/NAME`; the others are only imported. May be repeated. By default, all are implemented
    /// [env: ESPALIER_IMPLEMENT]
    #[arg(long, value_name = "MODULE")]
    pub implement: Vec<String>,

    /// The enabled features of a module, as in `ietf-ip:ipv4-non-contiguous-netmasks,other`; `ietf-ip:`
    /// enables none. By default, all features are enabled [env: ESPALIER_FEATURES]
    #[arg(long, value_name = "MODULE:FEATURES")]
    pub features: Vec<String>,

    /// Modules that are mounted at the mount points of a label (RFC 8528): a file, folder or built-in name as
    /// with --yang, as in `fleet:device=router.yang`. With a condition, instances whose leaf has this value
    /// have these modules, as in `fleet:device[model=x]=x/`. May be repeated, also to add modules
    /// [env: ESPALIER_MOUNT, separated by spaces]
    #[arg(long, value_name = "MODULE:LABEL=WHAT")]
    pub mount: Vec<String>,

    /// Nodes above a mount point that the expressions of mounted modules can read (`parent-reference`), as in
    /// `fleet:device=/fleet:sites/fleet:site`. May be repeated
    #[arg(long, value_name = "MODULE:LABEL=PATH")]
    pub mount_reference: Vec<String>,

    /// If --yang changes the modules of the store: remove data of nodes that the new modules do not have,
    /// in a commit of the history. Without this option the change is rejected
    #[arg(long)]
    pub drop_unknown: bool,

    /// If --yang changes the modules of the store: only list what would be converted, removed or
    /// rejected; change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// If --yang changes the modules of the store: a value for a leaf wherever data lack it, for leaves that become
    /// mandatory, as in `/plant:plant/owner=me`. The path has no keys: it stands for all entries. May be repeated
    #[arg(long, value_name = "PATH=VALUE", value_parser = leaf_fill)]
    pub fill: Vec<LeafFill>,

    /// Which rules of the models the data must satisfy from now on: `full`, or `structure` (and types)
    /// only, for data that break the constraints of their own models. The store keeps this setting
    /// [default of a new anchor: full]
    #[arg(long, value_name = "WHAT")]
    pub validation: Option<Validation>,

    /// The dataspace [env: ESPALIER_DATASPACE] [default: default; with --server and neither --dataspace nor
    /// --anchor, those of the server]
    #[arg(long, value_name = "NAME")]
    pub dataspace: Option<String>,

    /// The anchor: the data tree within the dataspace [env: ESPALIER_ANCHOR] [default: default]
    #[arg(long, value_name = "NAME")]
    pub anchor: Option<String>,

    /// The datastore (RFC 8342): running, candidate, private-candidate, startup, factory-default,
    /// intended or operational [env: ESPALIER_DATASTORE] [default: running; for commit, validate,
    /// discard and update: candidate]
    #[arg(long, value_name = "NAME")]
    pub datastore: Option<String>,

    /// The session that owns locks and private candidates: any name [env: ESPALIER_SESSION]
    #[arg(long, value_name = "NAME")]
    pub session: Option<String>,

    /// The author of commits, for the history [env: ESPALIER_AUTHOR] [default: the command]
    #[arg(long, value_name = "NAME")]
    pub author: Option<String>,

    /// The reason of the commit, for the history
    #[arg(long, value_name = "TEXT")]
    pub comment: Option<String>,
}

/// How much of the models the data must meet.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Validation {
    /// All of it.
    Full,
    /// Structure and types.
    Structure,
}

/// How a command talks.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct OutputOptions {
    /// Print results and errors as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

impl OutputOptions {
    /// The form in which lines are printed.
    pub fn form(self) -> Form {
        match self.json {
            true => Form::Json,
            false => Form::Text,
        }
    }
}

/// A password or a token. It is never printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Every setting, from one source or from all of them.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// The store, as a URL.
    pub store: Option<String>,
    /// The server, as a URL.
    pub server: Option<String>,
    /// The user to log in as.
    pub user: Option<String>,
    /// The password of the user.
    #[serde(skip)]
    pub password: Option<Secret>,
    /// The bearer token.
    #[serde(skip)]
    pub token: Option<Secret>,
    /// The certificate that is the server's own or signed it, PEM.
    pub server_ca: Option<PathBuf>,
    /// The client certificate, PEM.
    pub client_cert: Option<PathBuf>,
    /// Its key, PEM.
    pub client_key: Option<PathBuf>,
    /// Files, folders or names of modules.
    pub yang: Vec<String>,
    /// The modules to implement.
    pub implement: Vec<String>,
    /// Features by module.
    pub features: Vec<String>,
    /// What is mounted at mount points.
    pub mount: Vec<String>,
    /// Parent references of mount points.
    pub mount_reference: Vec<String>,
    /// Whether an upgrade removes data of nodes that the new modules do not have.
    #[serde(skip)]
    pub drop_unknown: bool,
    /// Whether an upgrade is checked only, without changes.
    #[serde(skip)]
    pub dry_run: bool,
    /// Values for leaves that the data lack after an upgrade.
    #[serde(skip)]
    pub fill: Vec<LeafFill>,
    /// Whether results are printed as JSON.
    #[serde(skip)]
    pub json: bool,
    /// How much of the models the data must meet.
    pub validation: Option<Validation>,
    /// The dataspace.
    pub dataspace: Option<String>,
    /// The anchor.
    pub anchor: Option<String>,
    /// The datastore.
    pub datastore: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The author of commits.
    pub author: Option<String>,
    /// The comment of commits.
    pub comment: Option<String>,
    /// The address to serve on.
    pub listen: Option<String>,
    /// The server's certificate chain, PEM.
    pub tls_cert: Option<PathBuf>,
    /// The server's key, PEM.
    pub tls_key: Option<PathBuf>,
    /// The authorities that must have issued client certificates, PEM.
    pub client_ca: Option<PathBuf>,
    /// The folder of a certificate that is created for trying TLS.
    pub tls_self_signed: Option<PathBuf>,
    /// The Unix socket to serve on.
    pub unix_socket: Option<PathBuf>,
    /// Its permissions, octal.
    pub unix_socket_mode: Option<String>,
    /// The address of NETCONF over SSH.
    pub netconf_ssh: Option<String>,
    /// The folder of the SSH host keys.
    pub netconf_host_keys: Option<PathBuf>,
    /// The address of NETCONF over TLS.
    pub netconf_tls: Option<String>,
    /// The authorities of the certificates of NETCONF clients, PEM.
    pub netconf_client_ca: Option<PathBuf>,
    /// The Unix socket of NETCONF.
    pub netconf_socket: Option<PathBuf>,
    /// The NETCONF clients that the server connects to.
    pub netconf_call_home: Vec<String>,
    /// The folder of `file:` URLs of NETCONF.
    pub netconf_url_dir: Option<PathBuf>,
    /// The beginnings of `https:` URLs of NETCONF.
    pub netconf_url_https: Vec<String>,
    /// The authorities of their servers.
    pub netconf_url_ca: Option<PathBuf>,
    /// The PAM service that verifies the passwords of users that are not in ietf-system.
    pub pam_service: Option<String>,
    /// Whether clients are served without authentication, also on addresses beyond loopback.
    pub insecure_no_authentication: Option<bool>,
    /// Whether users may log in without TLS on addresses beyond loopback.
    pub insecure_no_tls: Option<bool>,
    /// Hosts that requests may name in addition to the server's own.
    pub allowed_host: Vec<String>,
    /// The maximum number of open connections.
    pub connections_max: Option<usize>,
    /// Seconds that a connection may stay without a request.
    pub header_timeout: Option<u64>,
    /// Seconds that the server waits for the next byte of a body.
    pub body_pause: Option<u64>,
    /// The folder for large bodies.
    pub spill_dir: Option<PathBuf>,
    /// The maximum bytes of all bodies in that folder.
    pub spill_max: Option<u64>,
    /// A file to which a server appends the records of its audit log.
    pub audit_file: Option<PathBuf>,
    /// The syslog server to which a server sends them.
    pub audit_syslog: Option<String>,
    /// The log filter, in the syntax of `RUST_LOG`.
    pub log: Option<String>,
    /// The log format: `text` or `json`.
    pub log_format: Option<String>,
}

impl From<&Connection> for Settings {
    fn from(connection: &Connection) -> Self {
        Self {
            store: connection.store.clone(),
            server: connection.server.clone(),
            user: connection.user.clone(),
            server_ca: connection.server_ca.clone(),
            client_cert: connection.client_cert.clone(),
            client_key: connection.client_key.clone(),
            ..Self::default()
        }
    }
}

/// `PATH=VALUE`.
fn leaf_fill(text: &str) -> std::result::Result<LeafFill, String> {
    let (path, value) = text
        .split_once('=')
        .ok_or("write it as PATH=VALUE, as in /plant:plant/owner=me")?;
    Ok(LeafFill {
        path: path.to_owned(),
        value: value.to_owned(),
    })
}

impl From<&Access> for Settings {
    fn from(access: &Access) -> Self {
        Self {
            yang: access.yang.clone(),
            implement: access.implement.clone(),
            features: access.features.clone(),
            mount: access.mount.clone(),
            mount_reference: access.mount_reference.clone(),
            drop_unknown: access.drop_unknown,
            dry_run: access.dry_run,
            fill: access.fill.clone(),
            json: false,
            validation: access.validation,
            dataspace: access.dataspace.clone(),
            anchor: access.anchor.clone(),
            datastore: access.datastore.clone(),
            session: access.session.clone(),
            author: access.author.clone(),
            comment: access.comment.clone(),
            ..Self::from(&access.connection)
        }
    }
}

impl Settings {
    /// Reads the environment and the configuration file: `file` if given, else `espalier.toml` in the working
    /// directory, if it exists.
    pub fn from_environment_and_file(file: Option<&Path>) -> Result<Self> {
        let environment = Self::from_environment(&|name| env::var(name).ok())?;
        let file = match file {
            Some(file) => Self::from_file(file)?,
            None if Path::new(DEFAULT_FILE).is_file() => Self::from_file(Path::new(DEFAULT_FILE))?,
            None => Self::default(),
        };
        Ok(environment.over(file))
    }

    fn from_environment(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let text = |name: &str| variable(name).filter(|value| !value.is_empty());
        let list = |name: &str, separator: char| -> Vec<String> {
            let value = text(name).unwrap_or_default();
            let parts = value.split(separator).filter(|part| !part.is_empty());
            parts.map(str::to_owned).collect()
        };
        let path = |name: &str| text(name).map(PathBuf::from);
        Ok(Self {
            store: text("ESPALIER_STORE"),
            server: text("ESPALIER_SERVER"),
            user: text("ESPALIER_USER"),
            password: text("ESPALIER_PASSWORD").map(Secret),
            token: text("ESPALIER_TOKEN").map(Secret),
            server_ca: path("ESPALIER_SERVER_CA"),
            client_cert: path("ESPALIER_CLIENT_CERT"),
            client_key: path("ESPALIER_CLIENT_KEY"),
            yang: list("ESPALIER_YANG", ':'),
            implement: list("ESPALIER_IMPLEMENT", ','),
            features: list("ESPALIER_FEATURES", ' '),
            mount: list("ESPALIER_MOUNT", ' '),
            mount_reference: Vec::new(),
            drop_unknown: false,
            dry_run: false,
            fill: Vec::new(),
            json: false,
            validation: None,
            dataspace: text("ESPALIER_DATASPACE"),
            anchor: text("ESPALIER_ANCHOR"),
            datastore: text("ESPALIER_DATASTORE"),
            session: text("ESPALIER_SESSION"),
            author: text("ESPALIER_AUTHOR"),
            comment: None,
            listen: text("ESPALIER_LISTEN"),
            tls_cert: path("ESPALIER_TLS_CERT"),
            tls_key: path("ESPALIER_TLS_KEY"),
            client_ca: path("ESPALIER_CLIENT_CA"),
            tls_self_signed: path("ESPALIER_TLS_SELF_SIGNED"),
            unix_socket: path("ESPALIER_UNIX_SOCKET"),
            unix_socket_mode: text("ESPALIER_UNIX_SOCKET_MODE"),
            netconf_ssh: text("ESPALIER_NETCONF_SSH"),
            netconf_host_keys: path("ESPALIER_NETCONF_HOST_KEYS"),
            netconf_tls: text("ESPALIER_NETCONF_TLS"),
            netconf_client_ca: path("ESPALIER_NETCONF_CLIENT_CA"),
            netconf_socket: path("ESPALIER_NETCONF_SOCKET"),
            netconf_call_home: list("ESPALIER_NETCONF_CALL_HOME", ' '),
            netconf_url_dir: path("ESPALIER_NETCONF_URL_DIR"),
            netconf_url_https: list("ESPALIER_NETCONF_URL_HTTPS", ' '),
            netconf_url_ca: path("ESPALIER_NETCONF_URL_CA"),
            pam_service: text("ESPALIER_PAM_SERVICE"),
            insecure_no_authentication: parsed(variable, "ESPALIER_INSECURE_NO_AUTHENTICATION")?,
            insecure_no_tls: parsed(variable, "ESPALIER_INSECURE_NO_TLS")?,
            allowed_host: list("ESPALIER_ALLOWED_HOST", ','),
            connections_max: parsed(variable, "ESPALIER_CONNECTIONS_MAX")?,
            header_timeout: parsed(variable, "ESPALIER_HEADER_TIMEOUT")?,
            body_pause: parsed(variable, "ESPALIER_BODY_PAUSE")?,
            spill_dir: path("ESPALIER_SPILL_DIR"),
            spill_max: parsed(variable, "ESPALIER_SPILL_MAX")?,
            audit_file: path("ESPALIER_AUDIT_FILE"),
            audit_syslog: text("ESPALIER_AUDIT_SYSLOG"),
            log: text("ESPALIER_LOG"),
            log_format: text("ESPALIER_LOG_FORMAT"),
        })
    }

    fn from_file(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).map_err(|error| {
            Failure::usage(format!("the configuration cannot be read: {error}"))
                .in_file(file.display())
        })?;
        Self::from_toml(&text).map_err(|error| error.in_file(file.display()))
    }

    fn from_toml(text: &str) -> Result<Self> {
        toml::from_str(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            let line = text[..offset.min(text.len())].matches('\n').count() + 1;
            Failure::usage(format!(
                "line {line}: {}",
                error.message().replace('\n', " ")
            ))
            .hint("`espalier help` lists the settings; each option is a key of the same name")
        })
    }

    /// Merges two sources: a setting that `self` does not have is taken from `weaker`. Store and server exclude each
    /// other: if `self` has one of them, both of `weaker` are ignored.
    #[must_use]
    pub fn over(self, weaker: Self) -> Self {
        let has_location = self.store.is_some() || self.server.is_some();
        let (store, server) = if has_location {
            (self.store, self.server)
        } else {
            (weaker.store, weaker.server)
        };
        Self {
            store,
            server,
            user: self.user.or(weaker.user),
            password: self.password.or(weaker.password),
            token: self.token.or(weaker.token),
            server_ca: self.server_ca.or(weaker.server_ca),
            client_cert: self.client_cert.or(weaker.client_cert),
            client_key: self.client_key.or(weaker.client_key),
            yang: first_non_empty(self.yang, weaker.yang),
            implement: first_non_empty(self.implement, weaker.implement),
            features: first_non_empty(self.features, weaker.features),
            mount: first_non_empty(self.mount, weaker.mount),
            mount_reference: first_non_empty(self.mount_reference, weaker.mount_reference),
            drop_unknown: self.drop_unknown || weaker.drop_unknown,
            dry_run: self.dry_run || weaker.dry_run,
            fill: first_non_empty(self.fill, weaker.fill),
            json: self.json || weaker.json,
            validation: self.validation.or(weaker.validation),
            dataspace: self.dataspace.or(weaker.dataspace),
            anchor: self.anchor.or(weaker.anchor),
            datastore: self.datastore.or(weaker.datastore),
            session: self.session.or(weaker.session),
            author: self.author.or(weaker.author),
            comment: self.comment.or(weaker.comment),
            listen: self.listen.or(weaker.listen),
            tls_cert: self.tls_cert.or(weaker.tls_cert),
            tls_key: self.tls_key.or(weaker.tls_key),
            client_ca: self.client_ca.or(weaker.client_ca),
            tls_self_signed: self.tls_self_signed.or(weaker.tls_self_signed),
            unix_socket: self.unix_socket.or(weaker.unix_socket),
            unix_socket_mode: self.unix_socket_mode.or(weaker.unix_socket_mode),
            netconf_ssh: self.netconf_ssh.or(weaker.netconf_ssh),
            netconf_host_keys: self.netconf_host_keys.or(weaker.netconf_host_keys),
            netconf_tls: self.netconf_tls.or(weaker.netconf_tls),
            netconf_client_ca: self.netconf_client_ca.or(weaker.netconf_client_ca),
            netconf_socket: self.netconf_socket.or(weaker.netconf_socket),
            netconf_call_home: first_non_empty(self.netconf_call_home, weaker.netconf_call_home),
            netconf_url_dir: self.netconf_url_dir.or(weaker.netconf_url_dir),
            netconf_url_https: first_non_empty(self.netconf_url_https, weaker.netconf_url_https),
            netconf_url_ca: self.netconf_url_ca.or(weaker.netconf_url_ca),
            pam_service: self.pam_service.or(weaker.pam_service),
            insecure_no_tls: self.insecure_no_tls.or(weaker.insecure_no_tls),
            insecure_no_authentication: self
                .insecure_no_authentication
                .or(weaker.insecure_no_authentication),
            allowed_host: first_non_empty(self.allowed_host, weaker.allowed_host),
            connections_max: self.connections_max.or(weaker.connections_max),
            header_timeout: self.header_timeout.or(weaker.header_timeout),
            body_pause: self.body_pause.or(weaker.body_pause),
            spill_dir: self.spill_dir.or(weaker.spill_dir),
            spill_max: self.spill_max.or(weaker.spill_max),
            audit_file: self.audit_file.or(weaker.audit_file),
            audit_syslog: self.audit_syslog.or(weaker.audit_syslog),
            log: self.log.or(weaker.log),
            log_format: self.log_format.or(weaker.log_format),
        }
    }

    /// The settings with the store at `url`, if one is given.
    #[must_use]
    pub fn with_store(self, url: Option<&str>) -> Self {
        match url {
            Some(url) => Self {
                store: Some(url.to_owned()),
                server: None,
                ..self
            },
            None => self,
        }
    }

    /// The dataspace, or the default.
    pub fn dataspace(&self) -> &str {
        self.dataspace.as_deref().unwrap_or(DEFAULT_NAME)
    }

    /// The datastore, or the default.
    pub fn datastore(&self) -> Result<Datastore> {
        let Some(name) = self.datastore.as_deref() else {
            return Ok(Datastore::Running);
        };
        Datastore::parse(name).map_err(|error| Failure::usage(error.message.clone()).detail(error))
    }

    /// The author of commits.
    pub fn author(&self) -> &str {
        self.author.as_deref().unwrap_or("espalier")
    }

    /// The session; empty if there is none.
    pub fn session(&self) -> &str {
        self.session.as_deref().unwrap_or_default()
    }

    /// The anchor, or the default.
    pub fn anchor(&self) -> &str {
        self.anchor.as_deref().unwrap_or(DEFAULT_NAME)
    }
}

/// Parses an environment variable; `None` if it is not set or empty.
fn parsed<T: FromStr>(variable: &dyn Fn(&str) -> Option<String>, name: &str) -> Result<Option<T>> {
    let Some(value) = variable(name).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let wrong = |_| Failure::usage(format!("{name}={value}: this cannot be read"));
    value.parse().map(Some).map_err(wrong)
}

fn first_non_empty<T>(strong: Vec<T>, weak: Vec<T>) -> Vec<T> {
    if strong.is_empty() { weak } else { strong }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_win_over_environment_and_environment_over_the_file() {
        let environment = Settings::from_environment(&|name| match name {
            "ESPALIER_STORE" => Some("embedded:environment".into()),
            "ESPALIER_YANG" => Some("a:b".into()),
            "ESPALIER_ANCHOR" => Some(String::new()),
            "ESPALIER_ALLOWED_HOST" => Some("x.example,*.y.example".into()),
            "ESPALIER_CONNECTIONS_MAX" => Some("7".into()),
            _ => None,
        });
        let environment = environment.expect("an environment");
        let file = "server = \"http://file\"\nanchor = \"file\"\nyang = [\"c\"]";
        let file = Settings::from_toml(file).expect("a file");
        let access = Access {
            dataspace: Some("flag".into()),
            ..Access::default()
        };
        let all = Settings::from(&access).over(environment.over(file));
        assert_eq!(all.store.as_deref(), Some("embedded:environment"));
        assert_eq!((all.server.as_deref(), all.anchor()), (None, "file"));
        assert_eq!(
            (all.dataspace(), all.yang.as_slice()),
            ("flag", &["a".into(), "b".into()][..])
        );
        assert_eq!(all.allowed_host, ["x.example", "*.y.example"]);
        assert_eq!(all.connections_max, Some(7));
    }

    #[test]
    fn a_mistake_in_the_environment_is_reported_with_its_name() {
        let wrong = Settings::from_environment(&|name| match name {
            "ESPALIER_HEADER_TIMEOUT" => Some("soon".into()),
            _ => None,
        });
        let error = wrong.expect_err("no number").to_string();
        assert!(error.contains("ESPALIER_HEADER_TIMEOUT=soon"), "{error}");
    }

    #[test]
    fn a_mistake_in_the_file_is_reported_with_its_line() {
        let error = Settings::from_toml("anchor = \"a\"\nancor = \"b\"\n").expect_err("a typo");
        assert!(error.to_string().contains("line 2"), "{error}");
    }
}
