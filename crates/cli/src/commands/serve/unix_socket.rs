//! The Unix socket of a server.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use espalier_terminal::{Failure, Result};
use rustix::fs::Mode;
use rustix::process::umask;

use crate::settings::Settings;

/// The permissions of the socket without `--unix-socket-mode`: only the user of the server, and root, connect.
const MODE_DEFAULT: u32 = 0o600;

/// A socket that is listened on. Dropping it removes its file.
pub struct UnixSocket {
    path: PathBuf,
    listener: UnixListener,
}

impl UnixSocket {
    /// Listens on the socket of the settings, if they have one.
    pub fn bind(settings: &Settings) -> Result<Option<Self>> {
        let path = settings.unix_socket.as_ref();
        path.map(|path| Self::bind_to("--unix-socket", path, settings))
            .transpose()
    }

    /// Listens on the socket of an option, with the permissions of the settings.
    pub fn bind_to(option: &str, path: &Path, settings: &Settings) -> Result<Self> {
        let mode = settings.unix_socket_mode.as_deref().map(mode).transpose()?;
        let bound = listen(path, mode.unwrap_or(MODE_DEFAULT)).map_err(|error| {
            let message = format!("{option}: cannot listen: {error}");
            Failure::data(message).in_file(path.display())
        });
        Ok(Self {
            path: path.to_owned(),
            listener: bound?,
        })
    }

    /// Its listener, for a runtime.
    pub fn listener(&self) -> io::Result<tokio::net::UnixListener> {
        let listener = self.listener.try_clone()?;
        listener.set_nonblocking(true)?;
        tokio::net::UnixListener::from_std(listener)
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        // A file that remains is replaced at the next start.
        let _ = fs::remove_file(&self.path);
    }
}

fn mode(text: &str) -> Result<u32> {
    let mode = u32::from_str_radix(text, 8).ok();
    mode.filter(|mode| *mode <= 0o777).ok_or_else(|| {
        Failure::usage(format!(
            "--unix-socket-mode {text}: this is not an octal file mode"
        ))
        .hint("as in 660")
    })
}

fn listen(path: &Path, mode: u32) -> io::Result<UnixListener> {
    remove_abandoned(path)?;
    // Until its permissions are set, nobody else may connect.
    let previous = umask(Mode::from_raw_mode(0o177));
    let bound = UnixListener::bind(path);
    umask(previous);
    let listener = bound?;
    fs::set_permissions(path, Permissions::from_mode(mode))?;
    Ok(listener)
}

/// Removes the socket of a server that has ended without removing it.
fn remove_abandoned(path: &Path) -> io::Result<()> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !metadata.file_type().is_socket() {
        return Err(io::Error::new(
            ErrorKind::AlreadyExists,
            "there is another file with this name",
        ));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path),
        _ => Err(io::Error::new(
            ErrorKind::AddrInUse,
            "another process listens on it",
        )),
    }
}
