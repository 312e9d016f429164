//! A server with document collections in memory.

use std::sync::Arc;

use espalier_documents::Documents;
use espalier_drivers::memory::{Config, Memory};
use espalier_protocols::documents::{DocumentsService, router};
use espalier_protocols::intake::Intake;
use serde_json::json;

use crate::served::Server;

/// A server without a collection.
pub fn start() -> Server {
    let driver = Arc::new(Memory::new(Config::default()));
    let service = Arc::new(DocumentsService::new(Documents::new(driver, &[0x30])));
    Server::start(router(service, Intake::default()))
}

/// The same with a collection of cars.
pub fn with_cars(policy: &str) -> Server {
    let server = start();
    let definition = json!({"policy": policy, "indexes": [
        {"name": "name", "kind": "unique", "fields": ["/name"]},
        {"name": "color", "kind": "partition", "fields": ["/color"]},
        {"name": "color-and-year", "kind": "partition", "fields": ["/color", "/year"]},
        {"name": "keyword", "kind": "tags", "fields": ["/keywords"]},
    ]});
    server.send("PUT", "/documents/cars", &definition).with(201);
    server
}
