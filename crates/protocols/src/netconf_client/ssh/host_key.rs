//! Compares the host key of a server with `known_hosts`.

use std::path::PathBuf;

use russh::keys::known_hosts::{known_host_keys_path, learn_known_hosts_path};
use russh::keys::{Algorithm, HashAlg, PublicKey};

use super::options::{HostKeyPolicy, SshOptions};
use crate::netconf_client::server_url::HostAndPort;

/// The port of SSH, which names in files of host keys leave out.
const SSH_PORT: u16 = 22;

/// Why a host key is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostKeyError {
    /// The host is not in `known_hosts`.
    #[error("the host key of {host} is not known: {algorithm} {fingerprint}")]
    Unknown {
        /// The host.
        host: String,
        /// The algorithm of the key.
        algorithm: String,
        /// The fingerprint of the key.
        fingerprint: String,
    },
    /// `known_hosts` has another key.
    #[error(
        "the host key of {host} has changed, or another machine is in its place: it is {algorithm} {fingerprint}, and not the key in line {line} of {file}"
    )]
    Changed {
        /// The host.
        host: String,
        /// The algorithm of the key.
        algorithm: String,
        /// The fingerprint of the key.
        fingerprint: String,
        /// The file with the other key.
        file: PathBuf,
        /// The line of the other key.
        line: usize,
    },
    /// The file cannot be read or written.
    #[error("{file}: the file of host keys cannot be used: {reason}")]
    File {
        /// The file.
        file: PathBuf,
        /// The reason.
        reason: String,
    },
}

/// A key in a file.
struct Recorded {
    file: PathBuf,
    line: usize,
    key: PublicKey,
}

/// What is known of the keys of a host.
pub(super) struct KnownHost {
    /// Without the port if it is an alias, as that of OpenSSH's HostKeyAlias.
    host: HostAndPort,
    recorded: Vec<Recorded>,
    policy: HostKeyPolicy,
    /// Where a new key is added.
    file: Option<PathBuf>,
}

impl KnownHost {
    /// Reads the keys of a host.
    pub fn read(options: &SshOptions, server: &HostAndPort) -> Result<Self, HostKeyError> {
        let host = match &options.host_key_alias {
            Some(alias) => HostAndPort {
                host: alias.clone(),
                port: SSH_PORT,
            },
            None => server.clone(),
        };
        let mut recorded = Vec::new();
        for file in &options.known_hosts {
            if options.host_key_policy == HostKeyPolicy::Any {
                break;
            }
            let found = known_host_keys_path(&host.host, host.port, file);
            let found = found.map_err(|error| HostKeyError::File {
                file: file.clone(),
                reason: error.to_string(),
            })?;
            recorded.extend(found.into_iter().map(|(line, key)| Recorded {
                file: file.clone(),
                line,
                key,
            }));
        }
        Ok(Self {
            host,
            recorded,
            policy: options.host_key_policy,
            file: options.known_hosts.first().cloned(),
        })
    }

    /// Sorts algorithms of host keys: those of the known keys first, so that a server with several keys shows one that is
    /// known.
    pub fn sort(&self, algorithms: &mut [Algorithm]) {
        let is_recorded = |algorithm: &Algorithm| {
            let mut recorded = self.recorded.iter().map(|one| one.key.algorithm());
            recorded.any(|one| is_same(&one, algorithm))
        };
        algorithms.sort_by_key(|algorithm| !is_recorded(algorithm));
    }

    /// The name of the host in a file of host keys, as `ssh-keygen -R` needs it.
    fn name(&self) -> String {
        let HostAndPort { host, port } = &self.host;
        match *port {
            SSH_PORT => host.clone(),
            port => format!("[{host}]:{port}"),
        }
    }

    /// Checks the key of the server.
    pub fn check(&self, key: &PublicKey) -> Result<(), HostKeyError> {
        if self.policy == HostKeyPolicy::Any
            || self
                .recorded
                .iter()
                .any(|one| one.key.key_data() == key.key_data())
        {
            return Ok(());
        }
        let (host, algorithm) = (self.name(), key.algorithm().to_string());
        let fingerprint = key.fingerprint(HashAlg::Sha256).to_string();
        match (self.recorded.first(), self.policy, &self.file) {
            (Some(other), ..) => Err(HostKeyError::Changed {
                host,
                algorithm,
                fingerprint,
                file: other.file.clone(),
                line: other.line,
            }),
            (None, HostKeyPolicy::AcceptNew, Some(file)) => {
                learn_known_hosts_path(&self.host.host, self.host.port, key, file).map_err(
                    |error| HostKeyError::File {
                        file: file.clone(),
                        reason: error.to_string(),
                    },
                )
            }
            _ => Err(HostKeyError::Unknown {
                host,
                algorithm,
                fingerprint,
            }),
        }
    }
}

/// Whether two algorithms use keys of the same type.
fn is_same(one: &Algorithm, other: &Algorithm) -> bool {
    match (one, other) {
        (Algorithm::Rsa { .. }, Algorithm::Rsa { .. }) => true,
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 2] = [
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA6rWI3G1sz07DnfFlrouTcysQlj2P+jpNSOEWD9OJ3X",
    ];

    fn key(text: &str) -> PublicKey {
        text.parse().expect("a key")
    }

    #[test]
    fn new_keys_are_added_and_changed_keys_rejected() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("ssh/known_hosts");
        let server = HostAndPort {
            host: "::1".to_owned(),
            port: 830,
        };
        let check = |policy, index: usize| {
            let options = SshOptions {
                known_hosts: vec![file.clone()],
                host_key_policy: policy,
                ..SshOptions::default()
            };
            KnownHost::read(&options, &server)?.check(&key(KEYS[index]))
        };
        let unknown = check(HostKeyPolicy::Known, 0).expect_err("not known");
        assert!(unknown.to_string().contains("SHA256:"), "{unknown}");
        check(HostKeyPolicy::AcceptNew, 0).expect("accepted");
        check(HostKeyPolicy::Known, 0).expect("known");
        for policy in [HostKeyPolicy::Known, HostKeyPolicy::AcceptNew] {
            let changed = check(policy, 1).expect_err("changed");
            assert!(matches!(changed, HostKeyError::Changed { .. }), "{changed}");
        }
        check(HostKeyPolicy::Any, 1).expect("accepted");
    }

    #[test]
    fn names_are_those_of_the_file() {
        let name = |alias: Option<&str>, port| {
            let server = HostAndPort {
                host: "192.0.2.1".to_owned(),
                port,
            };
            let options = SshOptions {
                host_key_alias: alias.map(str::to_owned),
                ..SshOptions::default()
            };
            KnownHost::read(&options, &server).expect("no files").name()
        };
        assert_eq!(name(None, 830), "[192.0.2.1]:830");
        assert_eq!(name(None, 22), "192.0.2.1");
        assert_eq!(name(Some("lab"), 830), "lab");
    }

    #[test]
    fn the_algorithm_of_a_known_key_is_first() {
        let known = KnownHost {
            host: HostAndPort {
                host: "h".to_owned(),
                port: 22,
            },
            recorded: vec![Recorded {
                file: PathBuf::new(),
                line: 1,
                key: key(KEYS[0]),
            }],
            policy: HostKeyPolicy::Known,
            file: None,
        };
        let mut algorithms = [Algorithm::Rsa { hash: None }, Algorithm::Ed25519];
        known.sort(&mut algorithms);
        assert_eq!(algorithms[0], Algorithm::Ed25519);
    }
}
