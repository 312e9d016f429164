//! A server with all front ends, and raw connections to it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use espalier_documents::Documents;
use espalier_drivers::memory::{Config, Memory};
use espalier_protocols::documents::DocumentsService;
use espalier_protocols::intake::{Intake, IntakeConfig};
use espalier_protocols::restconf::{Restconf, RestconfConfig};
use espalier_protocols::server::Limits;
use espalier_protocols::{documents, health_and_metrics, restconf, stats};
use espalier_service::{Anchor, Service};
use espalier_stats::Stats;
use espalier_store::{Datastore, Store, SystemClock};
use espalier_yang::schema::{ModuleSource, SchemaSource};
use serde_json::json;

use crate::served::Server;

const GARDEN: &str = include_str!("../models/garden.yang");

/// The timeout of servers under test that is expected to expire.
pub const SHORT: Duration = Duration::from_millis(300);

/// The maximum wait of a test; far beyond [`SHORT`], also on a slow machine.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// Limits with short timeouts.
pub fn short() -> Limits {
    Limits {
        handshake_timeout: SHORT,
        header_timeout: SHORT,
        body_pause_max: SHORT,
        ..Limits::default()
    }
}

/// The routes of all front ends, with a collection `cars`.
pub fn router(intake: IntakeConfig) -> Router {
    let driver = Arc::new(Memory::new(Config::default()));
    let store = Store::open(driver, Arc::new(SystemClock)).expect("a store");
    let source = SchemaSource {
        modules: vec![ModuleSource::from_text(GARDEN).expect("a module")],
        ..SchemaSource::default()
    };
    store.create_dataspace("test").expect("a dataspace");
    let made = store.create_schema_set("test", "garden", &source);
    made.expect("a schema set");
    let made = store.create_anchor("test", "garden", "garden");
    made.expect("an anchor");
    let tree = store.tree("test", "garden", Datastore::Running);
    let intake = Intake::new(intake);
    let config = RestconfConfig {
        intake: intake.clone(),
        ..RestconfConfig::default()
    };
    let service = {
        let tree = tree.expect("a tree");
        Restconf::new(
            Service::without_access_control(tree.clone()).expect("a service"),
            Anchor::of(&tree).expect("an anchor"),
            &source,
            config,
        )
    };
    let collections = Documents::new(Arc::new(Memory::new(Config::default())), &[0x30]);
    let cars = collections.configure("cars", espalier_documents::Policy::Uncached, Vec::new());
    cars.expect("a collection");
    let numbers = Stats::open(
        Arc::new(Memory::new(Config::default())),
        &[0x31],
        Arc::new(espalier_stats::SystemClock),
    );
    restconf::router(Arc::new(service))
        .expect("the routes")
        .merge(documents::router(
            Arc::new(DocumentsService::new(collections)),
            intake.clone(),
        ))
        .merge(stats::router(
            Arc::new(numbers.expect("statistics")),
            intake,
        ))
        .merge(health_and_metrics::health(Arc::new(|| Ok(()))))
        .merge(health_and_metrics::metrics(Arc::new(|| "a 1\n".to_owned())))
}

/// A server with all front ends.
pub fn start(limits: Limits) -> Server {
    Server::within(router(IntakeConfig::default()), limits)
}

/// A connection.
pub fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).expect("a connection");
    let set = stream.set_read_timeout(Some(TIMEOUT));
    set.expect("a time-out");
    stream
}

/// Reads until the server closes the connection; panics if it does not.
pub fn rest(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    match stream.read_to_end(&mut all) {
        Ok(_) => {}
        // Closing a connection with unread bytes resets it.
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        Err(error) => panic!("the server does not close: {error}"),
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// Sends bytes and reads until the server closes the connection.
pub fn exchange(server: &Server, bytes: &[u8]) -> String {
    let mut stream = connect(server);
    stream.write_all(bytes).expect("sent");
    rest(&mut stream)
}

/// The status of a response; 0 if there is none.
pub fn status(response: &str) -> u16 {
    let word = response
        .strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.get(..3));
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Reads the headers of a response, and its body by `Content-Length`.
pub fn read_response(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    let mut byte = [0];
    while !all.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).expect("the head of an answer");
        all.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&all).to_ascii_lowercase();
    let length = head.split("content-length: ").nth(1);
    let length = length.and_then(|rest| rest.split('\r').next()?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).expect("the body of an answer");
    all.extend(body);
    String::from_utf8_lossy(&all).into_owned()
}

/// Waits until a condition is true.
pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < TIMEOUT, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A body that counts the metric `n`.
pub fn write() -> String {
    json!({"metric": "n", "values": {"a": 1}}).to_string()
}
