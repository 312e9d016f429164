//! Clients that do not read the response.

use std::convert::Infallible;
use std::io::Write;
use std::net::TcpStream;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use bytes::Bytes;
use espalier_protocols::server::Limits;
use hyper::body::{Body as HttpBody, Frame};

use crate::served::Server;
use crate::support::{SHORT, TIMEOUT, connect, read_response, status, wait_until};

/// A body without an end; records its drop.
struct Endless(Arc<AtomicBool>);

impl HttpBody for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        static PIECE: [u8; 65_536] = [b'x'; 65_536];
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&PIECE)))))
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A server with an endless response, and a flag that is set when its body is dropped.
fn start(limits: Limits) -> (Server, Arc<AtomicBool>) {
    let is_dropped = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&is_dropped);
    let endless = move || {
        let noted = Arc::clone(&noted);
        async move { Body::new(Endless(noted)) }
    };
    let router = Router::new()
        .route("/endless", get(endless))
        .route("/healthz", get(|| async { "ok\n" }));
    (Server::within(router, limits), is_dropped)
}

/// A client that requests the endless response and reads only its headers.
fn untaken(server: &Server) -> TcpStream {
    let mut stream = connect(server);
    let get = b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream.write_all(get).expect("sent");
    assert_eq!(status(&read_response(&mut stream)), 200);
    stream
}

#[test]
fn an_unread_response_is_aborted() {
    let limits = Limits {
        response_pause_max: SHORT,
        ..Limits::default()
    };
    let (server, is_dropped) = start(limits);
    let _client = untaken(&server);
    wait_until("the response is aborted", || {
        is_dropped.load(Ordering::SeqCst)
    });
}

#[test]
fn an_unread_response_is_evicted_for_another_connection() {
    let limits = Limits {
        connections_max: 1,
        ..Limits::default()
    };
    let (server, is_dropped) = start(limits);
    let _client = untaken(&server);
    let mut other = connect(&server);
    let get = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    other.write_all(get).expect("sent");
    assert_eq!(status(&read_response(&mut other)), 200);
    assert!(is_dropped.load(Ordering::SeqCst));
}

#[test]
fn an_unread_response_does_not_delay_shutdown() {
    let limits = Limits {
        shutdown_receive_timeout: SHORT,
        shutdown_timeout: 4 * TIMEOUT,
        ..Limits::default()
    };
    let (server, _) = start(limits);
    let _client = untaken(&server);
    let begin = Instant::now();
    drop(server);
    assert!(begin.elapsed() < TIMEOUT, "{:?}", begin.elapsed());
}
