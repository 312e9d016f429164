//! A test server and a client.

use std::net::SocketAddr;
use std::thread::JoinHandle;

use axum::Router;
use espalier_protocols::server::{Config, Limits, serve};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// A content type for lines of any kind. Not every suite uses it.
#[allow(dead_code)]
pub const LINES: &[(&str, &str)] = &[("content-type", "application/octet-stream")];

/// The content type of JSON objects.
#[allow(dead_code)]
pub const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

/// A running server; it ends when dropped.
pub struct Server {
    address: SocketAddr,
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
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// Asserts the status.
    pub fn with(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }
}

/// Asserts a problem document with this status and text, without terms of Rust.
#[allow(dead_code)]
pub fn problem(response: HttpResponse, status: u16, words: &str) {
    let response = response.with(status);
    assert_eq!(response.header("content-type"), "application/problem+json");
    let problem = response.json();
    let detail = problem["detail"].as_str().expect("text");
    assert!(detail.contains(words), "{words}: {problem}");
    assert!(
        !detail.contains("struct") && !detail.contains("::"),
        "{problem}"
    );
}

impl Server {
    #[allow(dead_code)]
    pub fn start(router: Router) -> Self {
        Self::within(router, Limits::default())
    }

    /// The same with other limits of the listener.
    pub fn within(router: Router, limits: Limits) -> Self {
        let config = Config {
            limits,
            ..Config::default()
        };
        let (address_sender, listening) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                address_sender
                    .send(listener.local_addr().expect("an address"))
                    .expect("a test");
                let stop = async { drop(stopped.await) };
                serve(listener, router, config, stop).await.expect("served");
            });
        });
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            .build();
        Self {
            address: listening.recv().expect("an address"),
            agent: agent.into(),
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    // Not every suite opens raw connections.
    #[allow(dead_code)]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> HttpResponse {
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = match body {
            Some(body) => self
                .agent
                .run(request.body(body.to_owned()).expect("a request")),
            None => self.agent.run(request.body(()).expect("a request")),
        };
        let mut response = response.expect("a response");
        HttpResponse {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: response.body_mut().read_to_string().expect("text"),
        }
    }

    pub fn get(&self, path: &str) -> HttpResponse {
        self.request("GET", path, &[], None)
    }

    #[allow(dead_code)]
    pub fn send(&self, method: &str, path: &str, body: &Value) -> HttpResponse {
        let media = [("content-type", "application/json")];
        self.request(method, path, &media, Some(&body.to_string()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(
                ended.is_ok() || std::thread::panicking(),
                "the server panicked"
            );
        }
    }
}
