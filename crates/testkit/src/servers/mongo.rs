//! A server that speaks MongoDB's protocol: FerretDB over SQLite, which `scripts/mongo-server`
//! builds.
//!
//! It has no transactions and no change streams, and reads whole collections for what has no index.
//! Users are an experiment of it (`--test-enable-new-auth`), which refuses wrong passwords, and cannot
//! tell the `mongodb` crate that one is right. It is there for what is right, not for what is fast.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::process::{Directory, Launch, Process, Signal, free_port};
use super::wanted::is_wanted;

const NAME: &str = "mongodb";

/// The longest that one answer may take.
const ANSWER: Duration = Duration::from_secs(5);

/// A running server.
pub struct Mongo {
    process: Process,
    port: u16,
    is_plain: bool,
    names: AtomicU64,
}

impl Mongo {
    /// The server that all tests of this binary share. `None` where the run is not to have one.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Mongo> = OnceLock::new();
        is_wanted(NAME).then(|| SHARED.get_or_init(|| Self::launch(&[])))
    }

    /// One of one's own.
    pub fn start() -> Option<Self> {
        is_wanted(NAME).then(|| Self::launch(&[]))
    }

    /// The same with further options as on the command line of `ferretdb`; it speaks TLS where they
    /// name a certificate (`--listen-tls-cert-file=FILE` and `--listen-tls-key-file=FILE`).
    pub fn start_with(options: &[&str]) -> Option<Self> {
        is_wanted(NAME).then(|| Self::launch(options))
    }

    fn launch(options: &[&str]) -> Self {
        let port = free_port();
        let dir = Directory::in_memory(NAME);
        let is_plain = !options
            .iter()
            .any(|option| option.starts_with("--listen-tls-cert-file"));
        let (plain, secured) = match is_plain {
            true => (format!("127.0.0.1:{port}"), String::new()),
            false => (String::new(), format!("127.0.0.1:{port}")),
        };
        let launch = Launch::new(NAME, program()).arguments([
            "--handler=sqlite".to_owned(),
            "--sqlite-url=file:./".to_owned(),
            format!("--listen-addr={plain}"),
            format!("--listen-tls={secured}"),
            "--debug-addr=-".to_owned(),
            "--state-dir=-".to_owned(),
            "--telemetry=disable".to_owned(),
            "--log-level=error".to_owned(),
        ]);
        let mut launch = launch.arguments(options.iter().copied());
        // It makes much garbage, and has little to keep.
        launch.environment = vec![("GOGC".to_owned(), "400".to_owned())];
        let process = Process::start(launch, dir, || ready(port, is_plain));
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

    /// The same without options.
    pub fn base(&self) -> String {
        let number = self.names.fetch_add(1, Ordering::Relaxed);
        format!("mongodb://127.0.0.1:{}/test{number}", self.port)
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Runs a command, given as JSON, on a database. Panics when the server refuses it.
    pub fn run(&self, database: &str, command: &str) -> serde_json::Value {
        let command: bson::Document = serde_json::from_str(command).expect("a document");
        let answer = run(self.port, database, command).expect("an answer");
        assert_eq!(answer.get_f64("ok").ok(), Some(1.0), "{answer}");
        serde_json::to_value(answer).expect("JSON")
    }

    /// All documents of a collection, in the order of their `_id`s.
    pub fn documents(&self, database: &str, collection: &str) -> Vec<bson::Document> {
        let find = bson::doc! { "find": collection, "sort": { "_id": 1 } };
        let answer = run(self.port, database, find).expect("an answer");
        let found = answer.get_document("cursor").and_then(|cursor| {
            let documents = cursor.get_array("firstBatch")?.iter();
            Ok(documents.filter_map(bson::Bson::as_document).cloned())
        });
        found.expect("documents").collect()
    }

    /// Inserts a document, with an `_id` that is not there yet.
    pub fn insert(&self, database: &str, collection: &str, document: bson::Document) {
        let insert = bson::doc! { "insert": collection, "documents": [document] };
        let answer = run(self.port, database, insert).expect("an answer");
        assert!(!answer.contains_key("writeErrors"), "{answer}");
    }

    /// The process, to hurt it.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Ends it with a signal and starts it again; on return it answers.
    pub fn restart(&self, signal: Signal) {
        let (port, is_plain) = (self.port, self.is_plain);
        self.process.restart(signal, || ready(port, is_plain));
    }
}

/// The server's program, built where it is not there yet.
fn program() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let built = Command::new(root.join("scripts/mongo-server/build")).output();
    let built = built.expect("a shell for scripts/mongo-server/build");
    assert!(
        built.status.success(),
        "the MongoDB-protocol server cannot be built; `make servers` says more:\n{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let program = root.join("target/servers/mongo-server");
    program.canonicalize().expect("what was built")
}

/// Any answer to `hello` will do; under TLS, that somebody listens.
fn ready(port: u16, is_plain: bool) -> Result<(), String> {
    let answered = match is_plain {
        true => run(port, "admin", bson::doc! { "hello": 1 }).map(drop),
        false => TcpStream::connect(("127.0.0.1", port)).map(drop),
    };
    answered.map_err(|error| error.to_string())
}

/// Sends a command as an `OP_MSG` of one document, and reads the document of the answer.
fn run(port: u16, database: &str, mut command: bson::Document) -> io::Result<bson::Document> {
    const OP_MSG: u32 = 2013;
    /// Header, flags and the kind of the only section.
    const BEFORE: usize = 16 + 4 + 1;
    command.insert("$db", database);
    let document = command.to_vec().map_err(io::Error::other)?;
    let length = u32::try_from(BEFORE + document.len()).expect("a short command");
    let words = [length, 1, 0, OP_MSG, 0].map(u32::to_le_bytes);
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.write_all(&[&words.concat()[..], &[0], &document].concat())?;
    let mut before = [0; BEFORE];
    stream.read_exact(&mut before)?;
    bson::Document::from_reader(stream).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_can_be_killed_and_started_again() {
        let Some(mongo) = Mongo::start() else { return };
        mongo.restart(Signal::Kill);
        assert!(mongo.url("").contains(&mongo.port().to_string()));
        let dir = mongo.process().dir().to_owned();
        drop(mongo);
        assert!(!dir.exists());
    }
}
