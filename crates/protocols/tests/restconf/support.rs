//! A test server, a client, and assertions on responses.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use espalier_drivers::memory::{Config, Memory};
use espalier_protocols::health_and_metrics;
use espalier_protocols::restconf::{Restconf, RestconfConfig, router};
use espalier_protocols::server::{Config as Listening, Tls, serve};
use espalier_service::{Anchor, Service};
use espalier_store::{Datastore, Store, SystemClock, Tree};
use espalier_yang::schema::{ModuleSource, SchemaSource};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

const GARDEN: &str = include_str!("../models/garden.yang");

/// The JSON media type.
pub const JSON: &str = "application/yang-data+json";
/// The XML media type.
pub const XML: &str = "application/yang-data+xml";

/// A running server; it ends when dropped.
pub struct Server {
    pub address: SocketAddr,
    agent: ureq::Agent,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// A response.
#[derive(Debug)]
pub struct HttpResponse {
    pub status: u16,
    pub headers: ureq::http::HeaderMap,
    pub body: String,
}

impl HttpResponse {
    /// A header; empty if absent.
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }
}

/// The model and its source.
pub fn garden() -> (Tree, SchemaSource) {
    let driver = Arc::new(Memory::new(Config::default()));
    garden_in(&Store::open(driver, Arc::new(SystemClock)).unwrap())
}

/// The same in a store on another engine.
pub fn garden_in(store: &Store) -> (Tree, SchemaSource) {
    let source = SchemaSource {
        modules: vec![ModuleSource::from_text(GARDEN).unwrap()],
        ..SchemaSource::default()
    };
    store.create_dataspace("test").unwrap();
    store.create_schema_set("test", "garden", &source).unwrap();
    store.create_anchor("test", "garden", "garden").unwrap();
    let tree = store.tree("test", "garden", Datastore::Running).unwrap();
    (tree, source)
}

impl Server {
    /// A server with the default configuration.
    pub fn start() -> Self {
        Self::with(RestconfConfig::default(), None)
    }

    /// A server.
    pub fn with(config: RestconfConfig, tls: Option<Tls>) -> Self {
        Self::of(garden(), config, tls)
    }

    /// A server of a tree.
    pub fn of(
        (tree, source): (Tree, SchemaSource),
        config: RestconfConfig,
        tls: Option<Tls>,
    ) -> Self {
        let listening = Listening {
            tls,
            ..Listening::default()
        };
        Self::listening((tree, source), config, listening)
    }

    /// A server of a tree with this listener configuration.
    pub fn listening(
        (tree, source): (Tree, SchemaSource),
        config: RestconfConfig,
        listening: Listening,
    ) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let config = RestconfConfig {
            base_url: format!("http://{address}"),
            ..config
        };
        let mut service = Restconf::new(
            Service::without_access_control(tree.clone()).expect("a service"),
            Anchor::of(&tree).expect("an anchor"),
            &source,
            config,
        );
        for datastore in [
            Datastore::Operational,
            Datastore::Candidate,
            Datastore::Startup,
            Datastore::FactoryDefault,
            Datastore::Intended,
        ] {
            service = service.with_datastore(datastore);
        }
        let service = Arc::new(service);
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread();
            let runtime = { runtime }.worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                let shutdown = async {
                    let _ = stopped.await;
                };
                let router = router(service)
                    .expect("the routes")
                    .merge(health_and_metrics::health(Arc::new(|| Ok(()))))
                    .merge(health_and_metrics::metrics(Arc::new(|| "a 1\n".to_owned())));
                serve(listener, router, listening, shutdown).await.unwrap();
            });
        });
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            .build();
        Self {
            address,
            agent: agent.into(),
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Shuts the server down and waits until it has ended.
    pub fn shut_down(mut self) {
        if let (Some(stop), Some(thread)) = (self.stop.take(), self.thread.take()) {
            stop.send(()).unwrap();
            thread.join().unwrap();
        }
    }

    /// Sends a request.
    pub fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> HttpResponse {
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let result = match body {
            "" => self.agent.run(request.body(()).unwrap()),
            body => self.agent.run(request.body(body.to_owned()).unwrap()),
        };
        let mut response = result.unwrap();
        HttpResponse {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: response
                .body_mut()
                .with_config()
                .limit(1 << 30)
                .read_to_string()
                .unwrap(),
        }
    }

    /// GET of data, in JSON.
    pub fn get(&self, path: &str) -> HttpResponse {
        self.send("GET", &format!("/restconf/data{path}"), &[], "")
    }

    /// GET of data, in XML.
    pub fn get_xml(&self, path: &str) -> HttpResponse {
        self.send(
            "GET",
            &format!("/restconf/data{path}"),
            &[("accept", XML)],
            "",
        )
    }

    /// A request with a JSON body.
    pub fn json(&self, method: &str, path: &str, body: &str) -> HttpResponse {
        self.send(
            method,
            &format!("/restconf/data{path}"),
            &[("content-type", JSON)],
            body,
        )
    }

    /// A request with an XML body.
    pub fn xml(&self, method: &str, path: &str, body: &str) -> HttpResponse {
        self.send(
            method,
            &format!("/restconf/data{path}"),
            &[("content-type", XML)],
            body,
        )
    }

    /// PUT of a JSON document that must succeed.
    pub fn put(&self, path: &str, body: &str) {
        let response = self.json("PUT", path, body);
        assert!(
            matches!(response.status, 201 | 204),
            "PUT {path}: {response:?}"
        );
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }
}

/// The tag of the first error of a JSON response.
pub fn error_tag(response: &HttpResponse) -> String {
    let body: serde_json::Value = serde_json::from_str(&response.body)
        .unwrap_or_else(|error| panic!("{error}: {response:?}"));
    let tag = &body["ietf-restconf:errors"]["error"][0]["error-tag"];
    tag.as_str().unwrap_or_default().to_owned()
}

/// Asserts that a response is this JSON document.
#[track_caller]
pub fn check_json(response: &HttpResponse, expected: &str) {
    assert_eq!(response.status, 200, "{response:?}");
    let actual: serde_json::Value = serde_json::from_str(&response.body).unwrap();
    let expected: serde_json::Value = serde_json::from_str(expected).unwrap();
    assert_eq!(actual, expected);
}

/// Asserts the status and error-tag of a failed request.
#[track_caller]
pub fn check_error(response: &HttpResponse, status: u16, tag: &str) {
    assert_eq!(
        (response.status, error_tag(response).as_str()),
        (status, tag),
        "{response:?}"
    );
}

/// Encodes text as a path segment.
pub fn encode(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}
