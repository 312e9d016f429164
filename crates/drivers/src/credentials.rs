//! The files of a secured connection, all PEM: who is trusted, and who we are.

use std::fs;
use std::path::{Path, PathBuf};

use espalier_keyspace::{Error, ErrorKind, Result};

use crate::url::refusal;

/// The files as the options `ca`, `cert` and `key` of a URL name them.
#[derive(Clone, Default)]
pub(crate) struct Tls {
    /// Who is trusted; those whom the client trusts anyway when not given.
    pub(crate) ca: Option<PathBuf>,
    /// Who we are.
    pub(crate) certificate: Option<PathBuf>,
    /// The key of the certificate.
    pub(crate) key: Option<PathBuf>,
}

impl Tls {
    /// Who we are, where that is told.
    pub(crate) fn identity(&self, scheme: &str) -> Result<Option<Identity>> {
        let (certificate, key) = (self.certificate.clone(), self.key.clone());
        Identity::of(certificate, key, &format!("{scheme}: has cert and key"))
    }
}

/// Who we are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The file with the certificate, and those between it and the authority.
    pub certificate: PathBuf,
    /// The file with its key.
    pub key: PathBuf,
}

impl Identity {
    /// Two files, both or neither.
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

/// What is in a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| {
        let message = format!("cannot read {}", path.display());
        Error::new(ErrorKind::Engine, message).with_source(error)
    })
}

/// The password in a file: its first line.
pub(crate) fn password(path: &str) -> Result<String> {
    let text = fs::read_to_string(path).map_err(|error| {
        let message = format!("password_file: cannot read {path}");
        Error::new(ErrorKind::Engine, message).with_source(error)
    })?;
    match text.lines().next().filter(|line| !line.is_empty()) {
        Some(line) => Ok(line.to_owned()),
        None => Err(refusal(format!(
            "password_file: the first line of {path} is empty; it has to be the password"
        ))),
    }
}
