//! The requests of one connection: checks them, passes them to the router, and tracks their responses.

use std::convert::Infallible;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use http::header::CONNECTION;
use http::{HeaderValue, Request, Response, Version};
use hyper::body::{Body as HttpBody, Frame, Incoming as HyperBody, SizeHint};
use tower_service::Service;

use super::Limits;
use super::activity::{Activity, UnderWay};
use super::guard;
use super::hosts::Hosts;
use super::incoming::Incoming;

/// Handles the requests of one connection.
#[derive(Clone)]
pub(super) struct Requests {
    pub(super) router: Router,
    pub(super) hosts: Arc<Hosts>,
    pub(super) limits: Arc<Limits>,
    pub(super) activity: Arc<Activity>,
    /// The server address that the client connected to.
    pub(super) local: Option<IpAddr>,
}

type Answering = Pin<Box<dyn Future<Output = Result<Response<Answer>, Infallible>> + Send>>;

impl hyper::service::Service<Request<HyperBody>> for Requests {
    type Response = Response<Answer>;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, request: Request<HyperBody>) -> Answering {
        let under_way = UnderWay::begin(&self.activity);
        let Self {
            router,
            hosts,
            limits,
            activity,
            local,
        } = self.clone();
        Box::pin(async move {
            let answering = Arc::clone(&activity);
            let (parts, body) = request.into_parts();
            let version = parts.version;
            let is_read = Arc::new(AtomicBool::new(body.is_end_stream()));
            let mut answer = match guard::check(&parts, &hosts, local) {
                Err(refusal) => refusal.answer(&parts),
                Ok(()) => {
                    let body = match body.is_end_stream() {
                        true => Body::empty(),
                        false => {
                            let is_read = Arc::clone(&is_read);
                            Body::new(Incoming::new(body, is_read, activity, &limits))
                        }
                    };
                    let mut router = router;
                    let answering = router.call(Request::from_parts(parts, body));
                    answering.await.unwrap_or_else(|never| match never {})
                }
            };
            // The rest of the body precedes the next request, so this connection must end. Without this
            // header, a client would send its next request on it and lose it.
            if version < Version::HTTP_2 && !is_read.load(Ordering::Acquire) {
                let close = HeaderValue::from_static("close");
                answer.headers_mut().insert(CONNECTION, close);
            }
            Ok(answer.map(|body| Answer {
                body,
                activity: answering,
                is_sending: false,
                _under_way: under_way,
            }))
        })
    }
}

/// A response body. Its request is in progress until hyper has read it completely.
pub(super) struct Answer {
    body: Body,
    activity: Arc<Activity>,
    /// Whether hyper has a chunk; it polls for the next one when the client has read this one.
    is_sending: bool,
    _under_way: UnderWay,
}

impl Answer {
    fn set_sending(&mut self, is_sending: bool) {
        match (self.is_sending, is_sending) {
            (false, true) => self.activity.awaits_client(),
            (true, false) => self.activity.client_took(),
            _ => {}
        }
        self.is_sending = is_sending;
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.set_sending(false);
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.set_sending(false);
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        self.set_sending(matches!(frame, Poll::Ready(Some(Ok(_)))));
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
