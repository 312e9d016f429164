//! Credentials of a connection: the PEM files for TLS, and password files.

use std::fs;
use std::path::{Path, PathBuf};

use espalier_keyspace::{Error, ErrorKind, Result};

use crate::url::refusal;

/// The files named by the URL options `ca`, `cert` and `key`.
#[derive(Clone, Default)]
pub(crate) struct Tls {
    /// The trusted authorities; the client's default ones if absent.
    pub(crate) ca: Option<PathBuf>,
    /// The client certificate.
    pub(crate) certificate: Option<PathBuf>,
    /// The key of the certificate.
    pub(crate) key: Option<PathBuf>,
}

impl Tls {
    /// The client certificate with its key, if given.
    pub(crate) fn identity(&self, scheme: &str) -> Result<Option<Identity>> {
        let (certificate, key) = (self.certificate.clone(), self.key.clone());
        Identity::of(certificate, key, &format!("{scheme}: give cert and key"))
    }
}

/// A client certificate with its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The file with the certificate and its intermediates.
    pub certificate: PathBuf,
    /// The file with the key.
    pub key: PathBuf,
}

impl Identity {
    /// Requires both files or neither.
    pub(crate) fn of(
        certificate: Option<PathBuf>,
        key: Option<PathBuf>,
        options: &str,
    ) -> Result<Option<Self>> {
        match (certificate, key) {
            (Some(certificate), Some(key)) => Ok(Some(Self { certificate, key })),
            (None, None) => Ok(None),
            _ => Err(refusal(format!("{options}, both or neither"))),
        }
    }
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| {
        let message = format!("cannot read {}", path.display());
        Error::new(ErrorKind::Engine, message).with_source(error)
    })
}

/// Reads the password from a file: its first line.
pub(crate) fn password(path: &str) -> Result<String> {
    let text = fs::read_to_string(path).map_err(|error| {
        let message = format!("password_file: cannot read {path}");
        Error::new(ErrorKind::Engine, message).with_source(error)
    })?;
    match text.lines().next().filter(|line| !line.is_empty()) {
        Some(line) => Ok(line.to_owned()),
        None => Err(refusal(format!(
            "password_file: the first line of {path} is empty; it must contain the password"
        ))),
    }
}
