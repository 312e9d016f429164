//! `espalier netconf-stdio`.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread;

use clap::Args;
use espalier_terminal::{Failure, Result};

use crate::settings::Settings;

/// The size of the blocks that are copied, in bytes.
const BLOCK_BYTES: usize = 64 * 1024;

/// Connect standard input and output to the NETCONF socket of a server, as a subsystem of OpenSSH's server
#[derive(Args, Debug)]
#[command(after_help = "\
The user of the process is the user of the session. For clients of OpenSSH's server, in /etc/ssh/sshd_config:
  Subsystem netconf /usr/local/bin/espalier netconf-stdio --netconf-socket /run/espalier-netconf.sock

Examples:
  espalier netconf-stdio --netconf-socket /run/espalier-netconf.sock")]
pub struct NetconfStdio {
    /// The socket: that of `espalier serve --netconf-socket FILE` [env: ESPALIER_NETCONF_SOCKET]
    #[arg(long, value_name = "FILE")]
    netconf_socket: Option<PathBuf>,
}

impl NetconfStdio {
    /// Copies bytes in both directions until the server closes the session.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let path = self.netconf_socket.clone().or(settings.netconf_socket);
        let path = path.ok_or_else(|| {
            Failure::usage("netconf-stdio needs the NETCONF socket of a server")
                .hint("add --netconf-socket FILE, with which `espalier serve` runs")
        })?;
        let stream = UnixStream::connect(&path).map_err(|error| {
            Failure::data(format!("cannot connect to the NETCONF socket: {error}"))
                .in_file(path.display())
        })?;
        let to_server = stream.try_clone()?;
        // Ends with the process: reading standard input cannot be interrupted.
        thread::spawn(move || {
            let copied = copy(io::stdin().lock(), &to_server);
            // The server then sends the replies to what it has received.
            let ended = to_server.shutdown(Shutdown::Write);
            if let Err(error) = copied.and(ended) {
                tracing::debug!(%error, "the copy of standard input ended early");
            }
        });
        copy(&stream, io::stdout().lock())?;
        Ok(())
    }
}

/// Copies to the end, and flushes after each block: messages must not wait for the next.
fn copy(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        match from.read(&mut block) {
            Ok(0) => return Ok(()),
            Ok(read) => {
                to.write_all(&block[..read])?;
                to.flush()?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
