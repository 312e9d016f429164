//! Servers with MongoDB's protocol: MongoDB, which `scripts/mongod` fetches, and FerretDB with SQLite,
//! which `scripts/ferretdb` builds.
//!
//! FerretDB has no transactions and no change streams, and scans whole collections for queries without an
//! index. Its user authentication is experimental (`--test-enable-new-auth`): it rejects wrong passwords,
//! but does not work with the `mongodb` crate for correct ones. It tests correctness on a server other than
//! MongoDB, not performance.
//! not MongoDB, not for what is fast.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::enabled::is_wanted;
use super::ports::free_port;
use super::process::{IN_MEMORY, Launch, NewDirectory, Process, Signal};

/// Timeout of a request.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Cache size of a server in MiB: many run at once, each with little data.
const CACHE_MIB: u32 = 256;

/// Small log files, instead of preallocated files of 100 MB.
const LOG: &str = "log=(prealloc=false,file_max=16MB)";

/// The kind of the server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Mongod,
    FerretDb,
}

impl Kind {
    /// The name in messages and in [`super::SERVERS_VARIABLE`].
    const fn name(self) -> &'static str {
        match self {
            Self::Mongod => "mongodb",
            Self::FerretDb => "ferretdb",
        }
    }

    /// The command to start it; without `is_plain`, it uses TLS.
    fn launch(self, port: u16, is_plain: bool) -> Launch {
        let launch = Launch::new(self.name(), self.program());
        match self {
            Self::Mongod => launch.arguments([
                "--bind_ip=127.0.0.1".to_owned(),
                format!("--port={port}"),
                "--nounixsocket".to_owned(),
                "--quiet".to_owned(),
                format!("--wiredTigerCacheSizeGB={}", f64::from(CACHE_MIB) / 1024.0),
                format!("--wiredTigerEngineConfigString={LOG}"),
                "--setParameter=diagnosticDataCollectionEnabled=false".to_owned(),
            ]),
            Self::FerretDb => {
                let address = format!("127.0.0.1:{port}");
                let (plain, secured) = match is_plain {
                    true => (address, String::new()),
                    false => (String::new(), address),
                };
                let mut launch = launch.arguments([
                    "--handler=sqlite".to_owned(),
                    "--sqlite-url=file:./".to_owned(),
                    format!("--listen-addr={plain}"),
                    format!("--listen-tls={secured}"),
                    "--debug-addr=-".to_owned(),
                    "--state-dir=-".to_owned(),
                    "--telemetry=disable".to_owned(),
                    "--log-level=error".to_owned(),
                ]);
                // It produces much garbage and keeps little data.
                launch.environment = vec![("GOGC".to_owned(), "400".to_owned())];
                launch
            }
        }
    }

    /// The path of the server program, fetched or built if necessary.
    fn program(self) -> PathBuf {
        let (script, program) = match self {
            Self::Mongod => ("mongod/fetch", "mongod"),
            Self::FerretDb => ("ferretdb/build", "ferretdb"),
        };
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let made = Command::new(root.join("scripts").join(script)).output();
        let made = made.expect("a shell for the script");
        assert!(
            made.status.success(),
            "{program} is missing; see `make servers`:\n{}",
            String::from_utf8_lossy(&made.stderr)
        );
        let program = root.join("target/servers").join(program);
        program.canonicalize().expect("the built program")
    }
}

/// A running server.
pub struct Mongo {
    process: Process,
    port: u16,
    is_plain: bool,
    names: AtomicU64,
}

impl Mongo {
    /// The MongoDB server that all tests of this binary share. `None` if the run excludes it.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Mongo> = OnceLock::new();
        Self::shared_of(Kind::Mongod, &SHARED)
    }

    /// Like [`Self::shared`], for FerretDB.
    pub fn shared_ferretdb() -> Option<&'static Self> {
        static SHARED: OnceLock<Mongo> = OnceLock::new();
        Self::shared_of(Kind::FerretDb, &SHARED)
    }

    fn shared_of(kind: Kind, shared: &'static OnceLock<Self>) -> Option<&'static Self> {
        is_wanted(kind.name()).then(|| shared.get_or_init(|| Self::launch(kind, IN_MEMORY, &[])))
    }

    /// A MongoDB server of its own.
    pub fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// Like [`Self::start`], with further command line options of `mongod`; with `--tlsMode=requireTLS` it
    /// uses TLS.
    pub fn start_with(options: &[&str]) -> Option<Self> {
        let kind = Kind::Mongod;
        is_wanted(kind.name()).then(|| Self::launch(kind, IN_MEMORY, options))
    }

    /// Like [`Self::start`], with its data on the disk.
    pub fn start_on_disk() -> Option<Self> {
        let kind = Kind::Mongod;
        is_wanted(kind.name()).then(|| Self::launch(kind, Process::directory, &[]))
    }

    /// Like [`Self::start`], with its data in a directory.
    pub fn start_in(dir: &Path) -> Option<Self> {
        Self::start_with(&[&format!("--dbpath={}", dir.display())])
    }

    /// A FerretDB server of its own, with further command line options of `ferretdb`.
    pub fn start_ferretdb(options: &[&str]) -> Option<Self> {
        let kind = Kind::FerretDb;
        is_wanted(kind.name()).then(|| Self::launch(kind, IN_MEMORY, options))
    }

    fn launch(kind: Kind, directory: NewDirectory, options: &[&str]) -> Self {
        let port = free_port();
        let is_plain = !options.iter().any(|option| {
            ["--listen-tls-cert-file", "--tlsMode"]
                .iter()
                .any(|tls| option.starts_with(tls))
        });
        let is_placed = options.iter().any(|option| option.starts_with("--dbpath"));
        let place = (kind == Kind::Mongod && !is_placed).then_some("--dbpath=.");
        let launch = kind
            .launch(port, is_plain)
            .arguments(place)
            .arguments(options.iter().copied());
        let process = Process::start(launch, directory(kind.name()), || ready(port, is_plain));
        let names = AtomicU64::new(0);
        Self {
            process,
            port,
            is_plain,
            names,
        }
    }

    /// The URL of an empty key space in this server, with options for the driver.
    pub fn url(&self, options: &str) -> String {
        format!("{}?{options}", self.base())
    }

    /// Like [`Self::url`], without options.
    pub fn base(&self) -> String {
        let number = self.names.fetch_add(1, Ordering::Relaxed);
        format!("mongodb://127.0.0.1:{}/test{number}", self.port)
    }

    /// The database in such a URL.
    pub fn database(url: &str) -> &str {
        let (_, rest) = url.rsplit_once('/').expect("a path");
        rest.split('?').next().expect("a name")
    }

    /// The port of the server.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Runs a command, given as JSON, on a database. Panics if the server rejects it.
    pub fn run(&self, database: &str, command: &str) -> serde_json::Value {
        let command: bson::Document = serde_json::from_str(command).expect("a document");
        let response = self.send(database, command).expect("a response");
        assert_eq!(response.get_f64("ok").ok(), Some(1.0), "{response}");
        serde_json::to_value(response).expect("JSON")
    }

    /// Sends a command to a database.
    pub(super) fn send(
        &self,
        database: &str,
        command: bson::Document,
    ) -> io::Result<bson::Document> {
        run(self.port, database, command)
    }

    /// All documents of a collection, in the order of `_id`.
    pub fn documents(&self, database: &str, collection: &str) -> Vec<bson::Document> {
        let find = bson::doc! { "find": collection, "sort": { "_id": 1 }, "batchSize": 100_000 };
        let response = self.send(database, find).expect("a response");
        let found = response.get_document("cursor").and_then(|cursor| {
            let documents = cursor.get_array("firstBatch")?.iter();
            Ok(documents.filter_map(bson::Bson::as_document).cloned())
        });
        found.expect("documents").collect()
    }

    /// Inserts a document with a new `_id`.
    pub fn insert(&self, database: &str, collection: &str, document: bson::Document) {
        let insert = bson::doc! { "insert": collection, "documents": [document] };
        let response = self.send(database, insert).expect("a response");
        assert!(!response.contains_key("writeErrors"), "{response}");
    }

    /// The process, for fault injection.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Stops the server with a signal and starts it again; on return it is ready.
    pub fn restart(&self, signal: Signal) {
        let (port, is_plain) = (self.port, self.is_plain);
        self.process.restart(signal, || ready(port, is_plain));
    }
}

/// Any response to `hello` is accepted; with TLS, an open port.
fn ready(port: u16, is_plain: bool) -> Result<(), String> {
    let answered = match is_plain {
        true => run(port, "admin", bson::doc! { "hello": 1 }).map(drop),
        false => TcpStream::connect(("127.0.0.1", port)).map(drop),
    };
    answered.map_err(|error| error.to_string())
}

/// Sends a command as an `OP_MSG` with one document, and reads the document of the response.
fn run(port: u16, database: &str, mut command: bson::Document) -> io::Result<bson::Document> {
    const OP_MSG: u32 = 2013;
    /// Header, flags and the kind of the only section.
    const PREFIX_BYTES: usize = 16 + 4 + 1;
    command.insert("$db", database);
    let document = command.to_vec().map_err(io::Error::other)?;
    let length = u32::try_from(PREFIX_BYTES + document.len()).expect("a short command");
    let words = [length, 1, 0, OP_MSG, 0].map(u32::to_le_bytes);
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(RESPONSE_TIMEOUT))?;
    stream.write_all(&[&words.concat()[..], &[0], &document].concat())?;
    let mut prefix = [0; PREFIX_BYTES];
    stream.read_exact(&mut prefix)?;
    bson::Document::from_reader(stream).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_can_be_killed_and_started_again() {
        for mongo in [Mongo::start(), Mongo::start_ferretdb(&[])] {
            let Some(mongo) = mongo else { continue };
            mongo.restart(Signal::Kill);
            assert!(mongo.url("").contains(&mongo.port().to_string()));
            let dir = mongo.process().dir().to_owned();
            drop(mongo);
            assert!(!dir.exists());
        }
    }
}
