//! A PostgreSQL server.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::enabled::is_wanted;
use super::ports::free_port;
use super::process::{Launch, Process, Signal};

const NAME: &str = "postgres";

/// The user that the server runs as if the tests run as root, which the server rejects. The package creates
/// this user.
const SYSTEM_USER: &str = "postgres";

/// The database user, a superuser.
pub const USER: &str = "tester";

/// The password of this user.
pub const PASSWORD: &str = "p@ss";

/// The directory with the programs of each version on Debian.
const PROGRAMS: &str = "/usr/lib/postgresql";

/// Maximum number of connections: many tests run at once, each with many snapshots.
const CONNECTIONS_MAX: u32 = 400;

/// Timeout of a request.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A running PostgreSQL server.
pub struct Postgres {
    process: Process,
    port: u16,
    names: AtomicU64,
}

impl Postgres {
    /// The server that all tests of this binary share; it does not flush to disk. `None` if the run
    /// excludes it.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        is_wanted(NAME).then(|| SHARED.get_or_init(|| Self::launch(&["fsync=off"])))
    }

    /// A server of its own, with further settings such as `fsync=off`.
    pub fn start(settings: &[&str]) -> Option<Self> {
        is_wanted(NAME).then(|| Self::launch(settings))
    }

    fn launch(settings: &[&str]) -> Self {
        let dir = Process::directory(NAME);
        let data = dir.path().join("data");
        change_owner(dir.path());
        run_initdb(dir.path(), &data);
        let port = free_port();
        let mut launch = Launch::new(NAME, programs().join("postgres"))
            .arguments(["-D", &data.display().to_string()])
            .arguments(["-p", &port.to_string(), "-h", "127.0.0.1", "-k", ""])
            .arguments(["-c", &format!("max_connections={CONNECTIONS_MAX}")]);
        for setting in settings {
            launch = launch.arguments(["-c", setting]);
        }
        launch.user = Some(SYSTEM_USER);
        let process = Process::start(launch, dir, || ready(port));
        let names = AtomicU64::new(0);
        Self {
            process,
            port,
            names,
        }
    }

    /// The URL of an empty key space, with options for the driver; or of the schema in the options.
    pub fn url(&self, options: &str) -> String {
        if options.contains("schema=") {
            return format!("{}?{options}", self.base());
        }
        let number = self.names.fetch_add(1, Ordering::Relaxed);
        format!("{}?schema=test{number}&{options}", self.base())
    }

    /// The URL of the database, without options.
    pub fn base(&self) -> String {
        let password = PASSWORD.replace('@', "%40");
        format!(
            "postgres://{USER}:{password}@127.0.0.1:{}/postgres",
            self.port
        )
    }

    /// The port of the server.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process, for fault injection.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Stops the server with a signal and starts it again; on return it accepts connections.
    pub fn restart(&self, signal: Signal) {
        self.process.restart(signal, || ready(self.port));
    }

    /// Starts the server again after it was stopped.
    pub fn start_again(&self) {
        self.process.start_again(|| ready(self.port));
    }

    /// Creates a file in the data directory, owned by the server.
    pub fn put_file(&self, name: &str, text: &str) {
        let path = self.process.dir().join("data").join(name);
        fs::write(&path, text).expect("the data directory");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&path, mode).expect("the mode");
        change_owner(&path);
    }

    /// Changes the owner of a directory to the user of the server.
    pub fn own(&self, dir: &Path) {
        change_owner(dir);
    }

    /// Runs statements with `psql` and returns its output: rows, with `|` between columns.
    pub fn run(&self, statements: &str) -> String {
        let mut psql = Command::new(programs().join("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]);
        psql.args(["-c", statements]).arg(self.base());
        let output = psql.output().expect("psql starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{statements}: {errors}");
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    }
}

/// The directory with the programs of the newest version.
fn programs() -> PathBuf {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    let find = || {
        let versions = fs::read_dir(PROGRAMS).into_iter().flatten().flatten();
        let newest = versions
            .filter(|version| version.path().join("bin/initdb").is_file())
            .max_by_key(|version| {
                let name = version.file_name();
                name.to_str().and_then(|name| name.parse::<u32>().ok())
            });
        newest.map_or_else(
            || panic!("{PROGRAMS} contains no server; `make setup` installs it"),
            |newest| newest.path().join("bin"),
        )
    };
    FOUND.get_or_init(find).clone()
}

/// Changes the owner of a file or directory to the user of the server, if the tests run as root.
fn change_owner(path: &Path) {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let id = |option: &str| {
        let output = Command::new("id").args([option, SYSTEM_USER]).output();
        let output = output.expect("id starts").stdout;
        let text = String::from_utf8_lossy(&output);
        let number = text.trim().parse::<u32>();
        number.unwrap_or_else(|_| panic!("no user {SYSTEM_USER}; `make setup` installs it"))
    };
    chown(path, Some(id("-u")), Some(id("-g"))).expect("root may change owners");
}

fn run_initdb(dir: &Path, data: &Path) {
    let password = dir.join("password");
    fs::write(&password, PASSWORD).expect("the directory");
    change_owner(&password);
    let mut command = Command::new("setpriv");
    if rustix::process::getuid().is_root() {
        command.args([
            "--reuid",
            SYSTEM_USER,
            "--regid",
            SYSTEM_USER,
            "--init-groups",
        ]);
    }
    command.arg("--").arg(programs().join("initdb"));
    command.args([
        "--no-sync",
        "--no-locale",
        "--encoding=UTF8",
        "--data-checksums",
    ]);
    command.args(["--auth=scram-sha-256", "-U", USER, "--pwfile"]);
    command.arg(&password).arg("-D").arg(data).current_dir(dir);
    let made = command.output().expect("setpriv starts");
    let errors = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "initdb: {errors}");
}

/// Whether the server accepts connections: a request for a password means that it is neither starting nor
/// stopping.
fn ready(port: u16) -> Result<(), String> {
    let response = startup_response(port).map_err(|error| error.to_string())?;
    match response {
        b'R' => Ok(()),
        other => Err(format!("the response is {:?}", char::from(other))),
    }
}

fn startup_response(port: u16) -> std::io::Result<u8> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(RESPONSE_TIMEOUT))?;
    // PostgreSQL, Message Formats: StartupMessage, version 3.0.
    let parameters = format!("user\0{USER}\0database\0postgres\0\0");
    let length = u32::try_from(8 + parameters.len()).expect("short");
    stream.write_all(&length.to_be_bytes())?;
    stream.write_all(&0x0003_0000u32.to_be_bytes())?;
    stream.write_all(parameters.as_bytes())?;
    let mut tag = [0];
    stream.read_exact(&mut tag)?;
    Ok(tag[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_can_be_asked_and_restarted() {
        let Some(postgres) = Postgres::start(&[]) else {
            return;
        };
        assert_eq!(postgres.run("SELECT 1 + 1, 'x'"), "2|x");
        postgres.run("CREATE TABLE t AS SELECT 7 AS n");
        postgres.restart(Signal::Quit);
        assert_eq!(postgres.run("SELECT n FROM t"), "7");
    }
}
