//! Records as syslog messages (RFC 5424), sent as datagrams.

use std::fmt::Write as _;
use std::io;
use std::net::UdpSocket;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::record::{AuditRecord, AuditResult};
use super::sink::AuditOutput;
use super::truncate::truncate;
use crate::time_text::time_text;

/// Maximum bytes of a message.
pub const SYSLOG_LINE_BYTES_MAX: usize = 8192;

/// Maximum number of paths in a message. The log has the others.
const SYSLOG_PATHS_MAX: usize = 4;

/// Maximum bytes of a parameter's value.
const VALUE_BYTES_MAX: usize = 1024;

/// Maximum bytes of the text after the structured data.
const TEXT_BYTES_MAX: usize = 1024;

/// Maximum bytes of HOSTNAME (RFC 5424 §6).
const HOSTNAME_BYTES_MAX: usize = 255;

/// How long sending a datagram waits for a slow receiver.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// Facility 13, log audit (RFC 5424 §6.2.1).
const FACILITY: u8 = 13;

/// Severity of a successful operation.
const INFORMATIONAL: u8 = 6;

/// Severity of a failed operation.
const WARNING: u8 = 4;

/// The id of the structured data. 32473 is the enterprise number that RFC 5612 reserves for examples.
const STRUCTURED_DATA_ID: &str = "espalier@32473";

/// Where messages are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyslogAddress {
    /// A Unix datagram socket, such as `/dev/log`. As text `unix:/dev/log`.
    Unix(PathBuf),
    /// A host and a port. As text `udp:HOST:PORT`.
    Udp(String),
}

/// The error of a text that is no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a syslog address is unix:PATH or udp:HOST:PORT")]
pub struct InvalidSyslogAddress;

impl FromStr for SyslogAddress {
    type Err = InvalidSyslogAddress;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("unix", path)) if !path.is_empty() => Ok(Self::Unix(path.into())),
            Some(("udp", address)) if has_port(address) => Ok(Self::Udp(address.to_owned())),
            _ => Err(InvalidSyslogAddress),
        }
    }
}

fn has_port(address: &str) -> bool {
    let parts = address.rsplit_once(':');
    parts.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

/// Sends records to a syslog server.
pub struct Syslog {
    address: SyslogAddress,
    hostname: String,
    socket: Option<Socket>,
}

enum Socket {
    Unix(UnixDatagram),
    Udp(UdpSocket),
}

impl Syslog {
    /// An output for this address. The first record connects, so the server need not run yet.
    pub fn new(address: SyslogAddress) -> Self {
        let name = rustix::system::uname();
        Self {
            address,
            hostname: name.nodename().to_string_lossy().into_owned(),
            socket: None,
        }
    }
}

impl AuditOutput for Syslog {
    fn name(&self) -> &'static str {
        "syslog"
    }

    fn write(&mut self, record: &AuditRecord) -> io::Result<()> {
        let line = syslog_line(record, &self.hostname, std::process::id());
        let socket = match self.socket.take() {
            Some(socket) => socket,
            None => connect(&self.address)?,
        };
        if socket.send(line.as_bytes()).is_ok() {
            self.socket = Some(socket);
            return Ok(());
        }
        // The server may have been restarted: once more with a new connection.
        let socket = connect(&self.address)?;
        socket.send(line.as_bytes())?;
        self.socket = Some(socket);
        Ok(())
    }
}

fn connect(address: &SyslogAddress) -> io::Result<Socket> {
    match address {
        SyslogAddress::Unix(path) => {
            let socket = UnixDatagram::unbound()?;
            socket.set_write_timeout(Some(SEND_TIMEOUT))?;
            socket.connect(path)?;
            Ok(Socket::Unix(socket))
        }
        SyslogAddress::Udp(address) => connect_udp(address).map(Socket::Udp),
    }
}

fn connect_udp(address: &str) -> io::Result<UdpSocket> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in std::net::ToSocketAddrs::to_socket_addrs(address)? {
        let local = if address.is_ipv4() {
            "0.0.0.0:0"
        } else {
            "[::]:0"
        };
        let connected = UdpSocket::bind(local).and_then(|socket| {
            socket.set_write_timeout(Some(SEND_TIMEOUT))?;
            socket.connect(address)?;
            Ok(socket)
        });
        match connected {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl Socket {
    fn send(&self, line: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(socket) => socket.send(line),
            Self::Udp(socket) => socket.send(line),
        }
    }
}

/// The message of a record: one line of at most [`SYSLOG_LINE_BYTES_MAX`] bytes without control characters.
pub fn syslog_line(record: &AuditRecord, hostname: &str, process: u32) -> String {
    let entry = &record.entry;
    let severity = match entry.result {
        AuditResult::Ok => INFORMATIONAL,
        AuditResult::Error(_) => WARNING,
    };
    let priority = FACILITY * 8 + severity;
    let mut line = format!(
        "<{priority}>1 {} {} espalier {process} {} [{STRUCTURED_DATA_ID}",
        time_text(record.time),
        header_name(hostname),
        entry.operation
    );
    let mut add = |name: &str, value: &str| add_parameter(&mut line, name, value);
    add("sequence", &record.sequence.to_string());
    add("result", entry.result.name());
    let names = [
        ("user", &entry.user),
        ("session", &entry.session),
        ("transport", &entry.transport),
        ("peer", &entry.peer),
    ];
    for (name, value) in names {
        if let Some(value) = value {
            add(name, value);
        }
    }
    if let Some(target) = &entry.target {
        add("target", &target.to_string());
    }
    if let Some(version) = entry.version {
        add("version", &version.to_string());
    }
    // A parameter may be repeated: RFC 5424 §6.3.3.
    for path in entry.paths.iter().take(SYSLOG_PATHS_MAX) {
        add("path", path);
    }
    line.push(']');
    if !entry.message.is_empty() {
        let mut text = escape(&entry.message, |_| false);
        truncate(&mut text, TEXT_BYTES_MAX);
        line.push(' ');
        line.push_str(&text);
    }
    line
}

/// A name for the header: printable ASCII, `-` if there is none.
fn header_name(name: &str) -> String {
    let printable = name.chars().filter(char::is_ascii_graphic);
    let name: String = printable.take(HOSTNAME_BYTES_MAX).collect();
    if name.is_empty() {
        "-".to_owned()
    } else {
        name
    }
}

fn add_parameter(line: &mut String, name: &str, value: &str) {
    let mut value = value.to_owned();
    truncate(&mut value, VALUE_BYTES_MAX);
    let value = escape(&value, |character| matches!(character, '"' | '\\' | ']'));
    // The closing bracket and the text need room too.
    if line.len() + name.len() + value.len() + TEXT_BYTES_MAX + 8 > SYSLOG_LINE_BYTES_MAX {
        return;
    }
    // Writing to a string does not fail.
    let _ = write!(line, " {name}=\"{value}\"");
}

/// Replaces control characters and line separators by `#` and their number (RFC 5424 §6.2 permits to change
/// them), and escapes others with a backslash.
fn escape(text: &str, needs_backslash: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() || matches!(character, '\u{2028}' | '\u{2029}') {
            let _ = write!(escaped, "#{:03o}", u32::from(character));
            continue;
        }
        if needs_backslash(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}
