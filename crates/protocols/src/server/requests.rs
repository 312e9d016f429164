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
use http::request::Parts;
use http::{HeaderValue, Request, Response, Version};
use hyper::body::{Body as HttpBody, Frame, Incoming as HyperBody, SizeHint};
use tower_service::Service;

use super::Limits;
use super::activity::{Activity, RequestInProgress};
use super::authentication::ConnectionLogin;
use super::hosts::Hosts;
use super::request_checks;
use super::timed_body::TimedBody;

/// Handles the requests of one connection.
#[derive(Clone)]
pub(super) struct Requests {
    pub(super) router: Router,
    pub(super) hosts: Arc<Hosts>,
    pub(super) limits: Arc<Limits>,
    pub(super) activity: Arc<Activity>,
    /// The server address that the client connected to.
    pub(super) local: Option<IpAddr>,
    /// `None` if clients are not authenticated.
    pub(super) login: Option<Arc<ConnectionLogin>>,
}

type ResponseFuture =
    Pin<Box<dyn Future<Output = Result<Response<ResponseBody>, Infallible>> + Send>>;

impl hyper::service::Service<Request<HyperBody>> for Requests {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn call(&self, request: Request<HyperBody>) -> ResponseFuture {
        let in_progress = RequestInProgress::begin(&self.activity);
        let Self {
            router,
            hosts,
            limits,
            activity,
            local,
            login,
        } = self.clone();
        Box::pin(async move {
            let response_activity = Arc::clone(&activity);
            let (mut parts, body) = request.into_parts();
            let version = parts.version;
            let is_read = Arc::new(AtomicBool::new(body.is_end_stream()));
            let accepted = match request_checks::check(&parts, &hosts, local) {
                Err(rejection) => Err(rejection.into_response(&parts)),
                Ok(()) => authenticate(login.as_deref(), &mut parts).await,
            };
            let mut response = match accepted {
                Err(response) => response,
                Ok(()) => {
                    let body = match body.is_end_stream() {
                        true => Body::empty(),
                        false => {
                            let is_read = Arc::clone(&is_read);
                            Body::new(TimedBody::new(body, is_read, activity, &limits))
                        }
                    };
                    let mut router = router;
                    let handled = router.call(Request::from_parts(parts, body));
                    handled.await.unwrap_or_else(|never| match never {})
                }
            };
            // The rest of the body precedes the next request, so this connection must end. Without this
            // header, a client would send its next request on it and lose it.
            if version < Version::HTTP_2 && !is_read.load(Ordering::Acquire) {
                let close = HeaderValue::from_static("close");
                response.headers_mut().insert(CONNECTION, close);
            }
            Ok(response.map(|body| ResponseBody {
                body,
                activity: response_activity,
                is_sending: false,
                _in_progress: in_progress,
            }))
        })
    }
}

/// Adds the user of a request to its extensions. The error is the response to a request without a valid one.
async fn authenticate(
    login: Option<&ConnectionLogin>,
    parts: &mut Parts,
) -> Result<(), Response<Body>> {
    let Some(login) = login else {
        return Ok(());
    };
    match login.log_in(parts).await {
        Ok(peer) => {
            parts.extensions.insert(peer);
            Ok(())
        }
        Err(failure) => Err(failure.into_response(parts)),
    }
}

/// A response body. Its request is in progress until hyper has read it completely.
pub(super) struct ResponseBody {
    body: Body,
    activity: Arc<Activity>,
    /// Whether hyper has a chunk; it polls for the next one when the client has read this one.
    is_sending: bool,
    _in_progress: RequestInProgress,
}

impl ResponseBody {
    fn set_sending(&mut self, is_sending: bool) {
        match (self.is_sending, is_sending) {
            (false, true) => self.activity.begin_client_wait(),
            (true, false) => self.activity.end_client_wait(),
            _ => {}
        }
        self.is_sending = is_sending;
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.set_sending(false);
    }
}

impl HttpBody for ResponseBody {
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
