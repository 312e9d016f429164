//! The configuration of the SSH protocol.

use std::borrow::Cow;
use std::time::Duration;

use russh::keys::Algorithm;
use russh::server::Config;
use russh::{MethodKind, MethodSet, Preferred, SshId};

use super::host_keys::HostKeys;
use crate::netconf::transport::TransportLimits;

/// The server in the identification string (RFC 4253 §4.2), without a version that helps attackers.
const IDENTIFICATION: &str = "SSH-2.0-Espalier";

/// The methods by which clients authenticate.
pub(super) const METHODS: [MethodKind; 3] = [
    MethodKind::PublicKey,
    MethodKind::KeyboardInteractive,
    MethodKind::Password,
];

/// The configuration with these keys and limits.
pub(super) fn config(keys: &HostKeys, limits: &TransportLimits) -> Config {
    // The grace ends a connection before that of russh would.
    let keepalives = usize::try_from(limits.keepalives_unanswered_max).unwrap_or(usize::MAX);
    Config {
        server_id: SshId::Standard(Cow::Borrowed(IDENTIFICATION)),
        methods: MethodSet::from(&METHODS[..]),
        auth_rejection_time: limits.rejection_time,
        // Clients begin with the method `none`, to learn the others.
        auth_rejection_time_initial: Some(Duration::ZERO),
        max_auth_attempts: limits.authentication_attempts_max,
        keys: keys.keys().to_vec(),
        preferred: Preferred {
            key: host_key_algorithms(),
            ..Preferred::DEFAULT
        },
        // Idle sessions live; a dead client does not answer keepalives.
        inactivity_timeout: None,
        keepalive_interval: Some(limits.keepalive_interval),
        keepalive_max: keepalives,
        nodelay: true,
        ..Config::default()
    }
}

/// Those of russh without `ssh-rsa`, whose signatures are made with SHA-1.
fn host_key_algorithms() -> Cow<'static, [Algorithm]> {
    let algorithms = Preferred::DEFAULT.key.iter();
    let algorithms = algorithms.filter(|algorithm| !is_sha1(algorithm));
    algorithms.cloned().collect()
}

/// Whether signatures of this algorithm are made with SHA-1.
pub(super) fn is_sha1(algorithm: &Algorithm) -> bool {
    matches!(algorithm, Algorithm::Rsa { hash: None } | Algorithm::Dsa)
}
