//! How `serve` serves NETCONF.

use std::path::PathBuf;

use clap::Args;

use crate::settings::Settings;

/// Options of NETCONF.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "NETCONF")]
pub struct NetconfOptions {
    /// Also serve NETCONF over SSH (RFC 6242) on this address; its port is 830. Clients are users of the store, with a
    /// password or a key [env: ESPALIER_NETCONF_SSH]
    #[arg(long, value_name = "ADDRESS:PORT")]
    netconf_ssh: Option<String>,

    /// The folder of the SSH host keys, which are created at the first start: ssh_host_ed25519_key,
    /// ssh_host_ecdsa_key, ssh_host_rsa_key [env: ESPALIER_NETCONF_HOST_KEYS] [default: ssh-host-keys]
    #[arg(long, value_name = "DIR")]
    netconf_host_keys: Option<PathBuf>,

    /// Also serve NETCONF over TLS (RFC 7589) on this address; its port is 6513. Needs --tls-cert or --tls-self-signed,
    /// and --netconf-client-ca or --client-ca [env: ESPALIER_NETCONF_TLS]
    #[arg(long, value_name = "ADDRESS:PORT")]
    netconf_tls: Option<String>,

    /// The authorities of the certificates of NETCONF clients, PEM [env: ESPALIER_NETCONF_CLIENT_CA]
    /// [default: those of --client-ca]
    #[arg(long, value_name = "FILE")]
    netconf_client_ca: Option<PathBuf>,

    /// Also serve NETCONF on this Unix socket, with the permissions of --unix-socket-mode. `espalier netconf-stdio`
    /// connects to it [env: ESPALIER_NETCONF_SOCKET]
    #[arg(long, value_name = "FILE")]
    netconf_socket: Option<PathBuf>,

    /// A NETCONF client to connect to (RFC 8071): `NAME=ssh://HOST:PORT`, or `tls:`, with further addresses of the same
    /// client separated by commas, and options after `?`. The ports are 4334 and 4335. May be repeated
    /// [env: ESPALIER_NETCONF_CALL_HOME, separated by spaces]
    #[arg(long, value_name = "NAME=URL")]
    netconf_call_home: Vec<String>,

    /// Let requests of NETCONF name files in this folder: `file:///NAME` (RFC 6241 §8.8). The folder is not created
    /// [env: ESPALIER_NETCONF_URL_DIR]
    #[arg(long, value_name = "DIR")]
    netconf_url_dir: Option<PathBuf>,

    /// Let requests of NETCONF name documents whose URLs begin like this, for reading. May be repeated
    /// [env: ESPALIER_NETCONF_URL_HTTPS, separated by spaces]
    #[arg(long, value_name = "https://HOST/PATH/")]
    netconf_url_https: Vec<String>,

    /// The authorities of the certificates of those servers, PEM [env: ESPALIER_NETCONF_URL_CA] [default: Mozilla's]
    #[arg(long, value_name = "FILE")]
    netconf_url_ca: Option<PathBuf>,
}

impl NetconfOptions {
    /// The options as settings, merged with `others`.
    pub fn over(&self, others: Settings) -> Settings {
        Settings {
            netconf_ssh: self.netconf_ssh.clone(),
            netconf_host_keys: self.netconf_host_keys.clone(),
            netconf_tls: self.netconf_tls.clone(),
            netconf_client_ca: self.netconf_client_ca.clone(),
            netconf_socket: self.netconf_socket.clone(),
            netconf_call_home: self.netconf_call_home.clone(),
            netconf_url_dir: self.netconf_url_dir.clone(),
            netconf_url_https: self.netconf_url_https.clone(),
            netconf_url_ca: self.netconf_url_ca.clone(),
            ..others
        }
    }
}
