//! A server of all anchors of a store, called without a network.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use espalier_keyspace::Driver;
use espalier_keyspace::metered::{Meter, Metered};
use espalier_protocols::anchors::{AnchorLimits, AnchorName, DefaultAnchor, ServedAnchors, router};
use espalier_protocols::request_session::Peer;
use espalier_protocols::restconf::RestconfConfig;
use espalier_service::access::Caller;
use espalier_service::configuration::ConfigurationTrees;
use espalier_service::session::{Sessions, Transport};
use espalier_service::{AccessControl, LoginPolicy, Service};
use espalier_store::{Store, SystemClock};
use espalier_yang::schema::{ModuleSource, SchemaSource};
use http::{HeaderMap, Request};
use serde_json::Value;
use tower_service::Service as _;

/// What precedes paths in the URLs of the server's state.
pub const BASE_URL: &str = "http://server.example";

/// The maximum size of a response.
const RESPONSE_BYTES_MAX: usize = 64 << 20;

/// A store on a memory engine that counts calls.
pub struct Engine {
    pub driver: Arc<dyn Driver>,
    pub meter: Arc<Meter>,
}

impl Engine {
    pub fn new() -> Self {
        let driver = espalier_drivers::open("memory:").expect("a driver");
        let metered = Metered::new(driver);
        let meter = metered.meter();
        Self {
            driver: Arc::new(metered),
            meter,
        }
    }

    /// The store as another process opens it: with caches of its own.
    pub fn open(&self) -> Store {
        Store::open(Arc::clone(&self.driver), Arc::new(SystemClock)).expect("a store")
    }

    /// The number of calls of the engine so far.
    pub fn calls(&self) -> u64 {
        self.meter
            .readings()
            .iter()
            .map(|reading| reading.count)
            .sum()
    }
}

/// A module with these statements.
pub fn module(name: &str, body: &str) -> SchemaSource {
    let text = format!(
        "module {name} {{ yang-version 1.1; namespace \"urn:test:{name}\"; prefix p; {body} }}"
    );
    SchemaSource {
        modules: vec![ModuleSource::from_text(&text).expect("a module")],
        ..SchemaSource::default()
    }
}

/// A server of a store.
pub struct Server {
    pub anchors: ServedAnchors,
    pub service: Service,
    router: Router,
    runtime: tokio::runtime::Runtime,
}

/// A response.
#[derive(Debug, PartialEq)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: String,
}

impl Reply {
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name).expect("the header");
        value.to_str().expect("text")
    }

    pub fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        serde_json::from_str(&self.body).expect("JSON")
    }
}

impl Server {
    /// Serves `default/default` at the root, if there is such an anchor.
    pub fn new(store: Store, limits: AnchorLimits) -> Self {
        let trees = ConfigurationTrees::new(store, None);
        let sessions = Sessions::new(Arc::new(SystemClock));
        let service = Service::new(
            trees,
            AccessControl::Rules,
            sessions,
            LoginPolicy::default(),
        );
        let service = service.expect("a service");
        let default = DefaultAnchor {
            name: AnchorName::new("default", "default"),
            missing_hint: ": a hint".to_owned(),
        };
        let config = RestconfConfig {
            base_url: BASE_URL.to_owned(),
            ..RestconfConfig::default()
        };
        let anchors = ServedAnchors::new(service.clone(), default, config, limits);
        let anchors = anchors.expect("anchors");
        Self {
            router: router(anchors.clone(), Router::new()),
            anchors,
            service,
            runtime: tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .expect("a runtime"),
        }
    }

    /// A request of a user, with a body of RESTCONF.
    pub fn request(
        &self,
        caller: &Caller,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        body: &str,
    ) -> Reply {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request = request.extension(Peer {
            caller: caller.clone(),
            transport: Transport::Http,
            address: String::new(),
            service: self.service.clone(),
        });
        if !body.is_empty() {
            request = request.header("content-type", "application/yang-data+json");
        }
        let request = request
            .body(Body::from(body.to_owned()))
            .expect("a request");
        let mut router = self.router.clone();
        self.runtime.block_on(async {
            let response = router.call(request).await.expect("a response");
            let (parts, body) = response.into_parts();
            let body = to_bytes(body, RESPONSE_BYTES_MAX).await.expect("a body");
            Reply {
                status: parts.status.as_u16(),
                headers: parts.headers,
                body: String::from_utf8(body.to_vec()).expect("UTF-8"),
            }
        })
    }

    /// A GET by somebody to whom no rules apply.
    pub fn get(&self, path: &str) -> Reply {
        self.request(&Caller::exempt(), ("GET", path), &[], "")
    }

    /// A write by somebody to whom no rules apply.
    pub fn send(&self, method: &str, path: &str, body: &str) -> Reply {
        self.request(&Caller::exempt(), (method, path), &[], body)
    }
}

/// Creates a schema set with anchors of these names.
pub fn create(store: &Store, dataspace: &str, source: &SchemaSource, anchors: &[&str]) {
    store.create_dataspace(dataspace).expect("a dataspace");
    let created = store.create_schema_set(dataspace, "set", source);
    created.unwrap_or_else(|error| panic!("{error}"));
    for anchor in anchors {
        let created = store.create_anchor(dataspace, anchor, "set");
        created.expect("an anchor");
    }
}
