//! A certificate for trying TLS, which no authority has signed.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use espalier_terminal::{Failure, Result};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

use crate::settings::{DEFAULT_LISTEN, Settings};

/// The name of the certificate in the folder.
const CERTIFICATE: &str = "cert.pem";

/// The name of its key.
const KEY: &str = "key.pem";

/// The certificate and the key in a folder. Both are created if there is neither.
pub fn files(folder: &Path, settings: &Settings) -> Result<(PathBuf, PathBuf)> {
    let (certificate, key) = (folder.join(CERTIFICATE), folder.join(KEY));
    if !certificate.exists() && !key.exists() {
        create(folder, settings).map_err(|error| {
            Failure::data(format!("--tls-self-signed: {error}")).in_file(folder.display())
        })?;
        let shown = certificate.display();
        tracing::info!("a certificate was created; clients trust it with --server-ca {shown}");
    }
    Ok((certificate, key))
}

fn create(folder: &Path, settings: &Settings) -> std::result::Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let key = KeyPair::generate().map_err(|error| text(&error))?;
    let mut params = CertificateParams::new(names(settings)).map_err(|error| text(&error))?;
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, "espalier");
    let certificate = params.self_signed(&key).map_err(|error| text(&error))?;
    let mut builder = fs::DirBuilder::new();
    let created = builder.recursive(true).mode(0o700).create(folder);
    created.map_err(|error| text(&error))?;
    // The key first: a certificate without its key would not be created again.
    for (name, pem) in [(KEY, key.serialize_pem()), (CERTIFICATE, certificate.pem())] {
        let written = write_private(&folder.join(name), &pem);
        written.map_err(|error| text(&error))?;
    }
    Ok(())
}

/// The names that the certificate has: this machine, and the hosts that requests may name.
fn names(settings: &Settings) -> Vec<String> {
    let mut names = ["localhost", "127.0.0.1", "::1"]
        .map(str::to_owned)
        .to_vec();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let listen = settings.listen.as_deref().unwrap_or(DEFAULT_LISTEN);
    let listen = listen.rsplit_once(':').map_or(listen, |(host, _)| host);
    let listen = listen.trim_start_matches('[').trim_end_matches(']');
    let others = [host.trim(), listen].map(str::to_owned);
    for name in others.into_iter().chain(settings.allowed_host.clone()) {
        let address: Option<IpAddr> = name.parse().ok();
        let is_every = address.is_some_and(|address| address.is_unspecified());
        if !name.is_empty() && !is_every && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn write_private(file: &Path, text: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
