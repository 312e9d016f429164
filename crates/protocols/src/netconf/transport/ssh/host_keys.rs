//! The host keys of the server.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use russh::keys::key::safe_rng;
use russh::keys::ssh_key::private::RsaKeypair;
use russh::keys::ssh_key::{self, LineEnding};
use russh::keys::{Algorithm, EcdsaCurve, HashAlg, PrivateKey};
use tempfile::NamedTempFile;

/// The size of a new RSA key, in bits.
const RSA_BITS: usize = 3072;

/// The maximum size of the file of a key, in bytes: more than an RSA key of 16,384 bits has.
const KEY_FILE_BYTES_MAX: u64 = 64 * 1024;

/// The permissions of others than the owner.
const PERMISSIONS_OF_OTHERS: u32 = 0o077;

/// The kinds of keys, and the names of their files: those of OpenSSH.
const KINDS: [(Kind, &str); 3] = [
    (Kind::Ed25519, "ssh_host_ed25519_key"),
    (Kind::Ecdsa, "ssh_host_ecdsa_key"),
    (Kind::Rsa, "ssh_host_rsa_key"),
];

#[derive(Clone, Copy, Debug)]
enum Kind {
    Ed25519,
    Ecdsa,
    Rsa,
}

/// The private host keys of a server. `Debug` has no key.
#[derive(Clone)]
pub struct HostKeys {
    keys: Vec<PrivateKey>,
}

/// A host key cannot be read or made.
#[derive(Debug, thiserror::Error)]
pub enum HostKeyError {
    /// The folder cannot be made or read, or a file cannot be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// The folder or the file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is not a private key in the format of OpenSSH without a passphrase.
    #[error("{}: this is not a private key of OpenSSH without a passphrase: {source}", .path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: ssh_key::Error,
    },
    /// No key can be made.
    #[error("no host key can be made: {0}")]
    Random(#[from] ssh_key::Error),
}

impl std::fmt::Debug for HostKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.fingerprints()).finish()
    }
}

impl HostKeys {
    /// The keys in a folder: ed25519, ecdsa and rsa. Those that it does not have are made, in files that only their owner
    /// can read. If another process makes them at the same time, both have the same keys.
    ///
    /// # Errors
    /// The folder or a file cannot be made or read; a file is not a private key.
    pub fn open(folder: &Path) -> Result<Self, HostKeyError> {
        let failed = |source| HostKeyError::File {
            path: folder.to_owned(),
            source,
        };
        let mut builder = fs::DirBuilder::new();
        let created = builder.recursive(true).mode(0o700).create(folder);
        created.map_err(failed)?;
        let keys = KINDS.iter().map(|&(kind, name)| {
            let path = folder.join(name);
            match path.try_exists().map_err(failed)? {
                true => {}
                false => create(kind, folder, &path)?,
            }
            read(&path)
        });
        let keys = keys.collect::<Result<_, HostKeyError>>()?;
        Ok(Self { keys })
    }

    /// The fingerprints of the public keys, as OpenSSH shows them.
    pub fn fingerprints(&self) -> impl Iterator<Item = String> {
        let keys = self.keys.iter();
        keys.map(|key| key.fingerprint(HashAlg::Sha256).to_string())
    }

    pub(super) fn keys(&self) -> &[PrivateKey] {
        &self.keys
    }
}

fn create(kind: Kind, folder: &Path, path: &Path) -> Result<(), HostKeyError> {
    let key = match kind {
        Kind::Ed25519 => PrivateKey::random(&mut safe_rng(), Algorithm::Ed25519)?,
        Kind::Ecdsa => {
            let curve = EcdsaCurve::NistP256;
            PrivateKey::random(&mut safe_rng(), Algorithm::Ecdsa { curve })?
        }
        Kind::Rsa => PrivateKey::from(RsaKeypair::random(&mut safe_rng(), RSA_BITS)?),
    };
    let text = key.to_openssh(LineEnding::LF)?;
    let written = write_private(folder, path, text.as_bytes());
    written.map_err(|source| HostKeyError::File {
        path: path.to_owned(),
        source,
    })
}

/// Writes a file that only its owner can read, unless there is one with this name. It never has a part of the text.
fn write_private(folder: &Path, path: &Path, text: &[u8]) -> io::Result<()> {
    // Made with mode 0600.
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(text)?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => fs::File::open(folder)?.sync_all(),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.error),
    }
}

fn read(path: &Path) -> Result<PrivateKey, HostKeyError> {
    let failed = |source| HostKeyError::File {
        path: path.to_owned(),
        source,
    };
    let metadata = fs::metadata(path).map_err(failed)?;
    if metadata.size() > KEY_FILE_BYTES_MAX {
        return Err(failed(io::ErrorKind::FileTooLarge.into()));
    }
    if metadata.permissions().mode() & PERMISSIONS_OF_OTHERS != 0 {
        tracing::warn!(path = %path.display(), "a host key can be read by others; correct it with chmod 600");
    }
    let text = fs::read(path).map_err(failed)?;
    let key = PrivateKey::from_openssh(text).and_then(|key| match key.is_encrypted() {
        true => Err(ssh_key::Error::Encrypted),
        false => Ok(key),
    });
    key.map_err(|source| HostKeyError::Key {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_made_once_private_and_kept() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("keys");
        let first = HostKeys::open(&folder).unwrap();
        assert_eq!(first.keys().len(), KINDS.len());
        for (_, name) in KINDS {
            let mode = fs::metadata(folder.join(name)).unwrap().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        // A lost key is made again, and the others are kept.
        fs::remove_file(folder.join("ssh_host_ed25519_key")).unwrap();
        let second = HostKeys::open(&folder).unwrap();
        let fingerprints = |keys: &HostKeys| keys.fingerprints().collect::<Vec<_>>();
        let (first, second) = (fingerprints(&first), fingerprints(&second));
        assert_ne!(first[0], second[0]);
        assert_eq!(first[1..], second[1..]);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), KINDS.len());
    }

    #[test]
    fn a_file_that_is_no_key_is_an_error_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ssh_host_ed25519_key");
        fs::write(&path, "not a key").unwrap();
        let error = HostKeys::open(folder.path()).unwrap_err();
        assert!(
            error.to_string().contains("ssh_host_ed25519_key"),
            "{error}"
        );
        fs::write(&path, vec![b'x'; 100_000]).unwrap();
        let error = HostKeys::open(folder.path()).unwrap_err();
        assert!(matches!(error, HostKeyError::File { .. }), "{error}");
    }
}
