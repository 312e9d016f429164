//! Event streams (RFC 8040 §6, §3.8): notifications as server-sent events (HTML Living Standard §9.2).
//!
//! Each event is one message with `data`, and an `id` from which a client that connects again goes on (`Last-Event-ID`);
//! documents are encoded and framed once for all receivers. The notifications of an established subscription (RFC 8650) are
//! sent in the same way, without ids: it ends with the connection. Past events are
//! read on a thread that may block; the following ones are waited for by the task of the response, so that a receiver
//! costs no thread. What a client did not receive because it was too slow, and the end of a subscription, have messages
//! with an `event` field, which clients that only handle notifications ignore.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use espalier_service::notifications::{
    Delivery, Encoding, Event, EventFilter, EventSource, Polled, Position, Subscription,
    SubscriptionId, SubscriptionOptions, completion,
};
use espalier_service::session::Session;
use espalier_yang::ErrorTag;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use percent_encoding::percent_decode_str;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use super::Restconf;
use super::error::{Failure, Result};
use super::limits::{CHUNK_BYTES, EVENT_STREAM_PING};
use super::query::{AllowedParameters, Query};
use super::request_identity::Who;
use super::resource::Methods;
use super::response_body::{BodySender, sent_body};
use super::routes::{HttpResponse, options};
use crate::stream_slots::{LAST_EVENT_ID, StreamSlot, StreamSlots};
use crate::subscription_read::read;

/// The media type.
const MEDIA: &str = "text/event-stream";

/// The first bytes of a response: a comment, so that the client gets the headers at once.
const BEGIN: &[u8] = b":\n\n";

/// The answer to a request for an event stream.
pub(super) async fn get(
    service: &Restconf,
    parts: &Parts,
    name: &str,
    encoding: &str,
) -> Result<HttpResponse> {
    let name = percent_decode_str(name).decode_utf8();
    let name = name.map_err(|_| Failure::invalid("the path is not UTF-8"))?;
    let session = service.session(parts, &Who::of(&parts.headers)?.session)?;
    let running = service.main_datastore(&session);
    let stream = running.stream(&name).map_err(|error| match error {
        espalier_store::Error::Data(errors) => {
            Failure::from(errors).with_status(StatusCode::NOT_FOUND)
        }
        error => error.into(),
    })?;
    let encoding = Encoding::parse(encoding).ok_or_else(|| {
        let message = format!("the encodings of the event stream “{name}” are json and xml");
        Failure::not_found(message)
    })?;
    if let Some(response) = without_body(parts)? {
        return Ok(response);
    }
    let options = SubscriptionOptions {
        stream,
        from: last_position(&parts.headers),
        ..parameters(service, parts)?
    };
    let slot = slot(service, &session)?;
    receive(service, slot, Resume::ById, encoding, move || {
        running.subscribe(options)
    })
    .await
}

/// The answer to a request for the notifications of an established subscription (RFC 8650 §3.1).
pub(super) async fn established(
    service: &Restconf,
    parts: &Parts,
    id: &str,
) -> Result<HttpResponse> {
    let session = service.session(parts, &Who::of(&parts.headers)?.session)?;
    let running = service.main_datastore(&session);
    let missing = || Failure::not_found(format!("there is no subscription “{id}” of this user"));
    let id = SubscriptionId(id.parse().map_err(|_| missing())?);
    let encoding = running.subscription_encoding(id).map_err(|_| missing())?;
    if let Some(response) = without_body(parts)? {
        return Ok(response);
    }
    let limit = service.config().limits.query_bytes_max;
    Query::parse(parts.uri.query(), AllowedParameters::None, limit)?;
    let slot = slot(service, &session)?;
    receive(service, slot, Resume::Never, encoding, move || {
        running.open_subscription(id)
    })
    .await
}

/// Checks the request for a stream. Returns the response to a request that has no events.
fn without_body(parts: &Parts) -> Result<Option<HttpResponse>> {
    Methods::Read.check(&parts.method)?;
    if parts.method == Method::OPTIONS {
        return Ok(Some(options(Methods::Read)));
    }
    check_accept(&parts.headers)?;
    Ok((parts.method == Method::HEAD).then(|| response(Body::empty())))
}

/// Where a client goes on that received events before. Other texts are those of other servers.
fn last_position(headers: &HeaderMap) -> Option<Position> {
    let id = headers.get(LAST_EVENT_ID)?.to_str().ok()?;
    id.parse().ok()
}

/// Whether a client can go on after the last event that it received.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Resume {
    /// The events have ids.
    ById,
    /// The subscription ends with the connection.
    Never,
}

/// Reserves a response for the user of a session.
fn slot(service: &Restconf, session: &Session) -> Result<StreamSlot> {
    let acquired = service.server.event_streams.acquire(&session.caller().user);
    acquired.map_err(|reason| Failure::busy(reason.to_string()))
}

async fn receive(
    service: &Restconf,
    slot: StreamSlot,
    resume: Resume,
    encoding: Encoding,
    subscribe: impl FnOnce() -> espalier_store::Result<Subscription> + Send + 'static,
) -> Result<HttpResponse> {
    let subscribed = tokio::task::spawn_blocking(subscribe);
    let failed =
        |error: tokio::task::JoinError| Failure::new(ErrorTag::OperationFailed, error.to_string());
    let subscription = subscribed.await.map_err(failed)??;
    let (sender, body) = sent_body(service.config().limits.response_pause_max);
    let receiver = EventReceiver {
        subscription,
        resume,
        encoding,
        sender,
        slots: Arc::clone(&slot.slots),
        replays: Arc::clone(&service.server.replays),
    };
    tokio::spawn(async move {
        // A client that disconnects is not an error.
        if let Err(error) = receiver.run().await {
            tracing::debug!(%error, "an event stream ended");
        }
        drop(slot);
    });
    Ok(response(body))
}

fn response(body: Body) -> HttpResponse {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// The subscription that the query parameters describe (RFC 8040 §4.8.4, §4.8.7, §4.8.8).
fn parameters(service: &Restconf, parts: &Parts) -> Result<SubscriptionOptions> {
    let limit = service.config().limits.query_bytes_max;
    let query = Query::parse(parts.uri.query(), AllowedParameters::Events, limit)?;
    if query.stop_time.is_some() && query.start_time.is_none() {
        return Err(Failure::invalid("“stop-time” requires “start-time”"));
    }
    let filter = query.filter.as_deref().map(EventFilter::parse_xpath);
    Ok(SubscriptionOptions {
        filter: filter.transpose()?.map(Arc::new),
        start: query.start_time,
        stop: query.stop_time,
        ..SubscriptionOptions::default()
    })
}

/// Rejects a request whose `Accept` excludes event streams.
fn check_accept(headers: &HeaderMap) -> Result<()> {
    let mut ranges = headers.get_all(ACCEPT).iter().flat_map(|line| {
        let text = line.to_str().unwrap_or_default();
        text.split(',')
            .map(|range| range.split(';').next().unwrap_or_default().trim())
    });
    let accepts = |range: &str| [MEDIA, "text/*", "*/*"].contains(&range);
    match !headers.contains_key(ACCEPT) || ranges.any(accepts) {
        true => Ok(()),
        false => {
            let message = format!("an event stream is {MEDIA}");
            Err(Failure::invalid(message).with_status(StatusCode::NOT_ACCEPTABLE))
        }
    }
}

/// A response with events.
struct EventReceiver {
    subscription: Subscription,
    resume: Resume,
    encoding: Encoding,
    sender: BodySender,
    slots: Arc<StreamSlots>,
    /// Limits the threads that read past events.
    replays: Arc<Semaphore>,
}

/// What a receiver does next.
enum Next {
    Send(Bytes),
    MustRead,
    Ended,
}

impl EventReceiver {
    /// Sends events until the subscription ends, the client disconnects or the server shuts down.
    async fn run(mut self) -> io::Result<()> {
        self.sender.send(Bytes::from_static(BEGIN)).await?;
        let mut sent = Instant::now();
        loop {
            let left = EVENT_STREAM_PING.saturating_sub(sent.elapsed());
            match self.next(left).await {
                Some(Next::Send(frames)) => self.sender.send(frames).await?,
                Some(Next::MustRead) => match self.turn().await {
                    Some(turn) => {
                        self = read(self, |receiver| &mut receiver.subscription, turn).await?;
                        continue;
                    }
                    None => return self.sender.end().await,
                },
                Some(Next::Ended) => return self.sender.end().await,
                None if sent.elapsed() < EVENT_STREAM_PING => continue,
                None => self.sender.send(Bytes::from_static(BEGIN)).await?,
            }
            sent = Instant::now();
        }
    }

    /// What to do next; `None` if there is nothing for some time.
    async fn next(&mut self, wait_max: Duration) -> Option<Next> {
        let wait = wait_max.min(self.subscription.wait_max());
        let slots = Arc::clone(&self.slots);
        let (subscription, form) = (&mut self.subscription, (self.encoding, self.resume));
        let events = std::future::poll_fn(|context| poll(subscription, form, context));
        tokio::select! {
            next = timeout(wait, events) => next.ok(),
            () = slots.ended() => Some(Next::Ended),
            () = self.sender.closed() => Some(Next::Ended),
        }
    }

    /// Waits until few others read past events; `None` if the client or the server ends before.
    async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        tokio::select! {
            turn = Arc::clone(&self.replays).acquire_owned() => turn.ok(),
            () = self.slots.ended() => None,
            () = self.sender.closed() => None,
        }
    }
}

/// The frames of the events that have arrived, up to [`CHUNK_BYTES`].
fn poll(
    subscription: &mut Subscription,
    (encoding, resume): (Encoding, Resume),
    context: &mut Context<'_>,
) -> Poll<Next> {
    let mut frames: Vec<Bytes> = Vec::new();
    let mut bytes = 0;
    while bytes < CHUNK_BYTES {
        match subscription.poll(context) {
            Poll::Ready(Polled::Delivery(delivery)) => {
                if resume == Resume::ById && is_recorded(&delivery) {
                    frames.push(format!("id: {}\n", subscription.position()).into());
                }
                let frame = frame(&delivery, encoding);
                bytes += frame.len();
                frames.push(frame);
            }
            Poll::Ready(Polled::MustRead) if frames.is_empty() => {
                return Poll::Ready(Next::MustRead);
            }
            Poll::Ready(Polled::Ended) if frames.is_empty() => return Poll::Ready(Next::Ended),
            Poll::Pending if frames.is_empty() => return Poll::Pending,
            Poll::Ready(_) | Poll::Pending => break,
        }
    }
    Poll::Ready(Next::Send(match frames.len() {
        1 => frames.swap_remove(0),
        _ => frames.concat().into(),
    }))
}

/// Whether a client can go on after a delivery.
fn is_recorded(delivery: &Delivery) -> bool {
    match delivery {
        Delivery::Event(event) => {
            matches!(event.source(), EventSource::Log(_) | EventSource::Commit(_))
        }
        _ => false,
    }
}

fn frame(delivery: &Delivery, encoding: Encoding) -> Bytes {
    let now = || espalier_store::Clock::now(&espalier_store::SystemClock);
    match delivery {
        Delivery::Event(event) => event_frame(event, encoding),
        Delivery::ReplayComplete => {
            message("", &completion("replayComplete", now(), encoding)).into()
        }
        Delivery::Completed => {
            message("", &completion("notificationComplete", now(), encoding)).into()
        }
        Delivery::Lost(count) => {
            message("lost", format!("{{\"events\":{count}}}").as_bytes()).into()
        }
        Delivery::Terminated(reason) => message("terminated", reason.to_string().as_bytes()).into(),
    }
}

fn event_frame(event: &Event, encoding: Encoding) -> Bytes {
    event
        .frame(encoding, |document| message("", document))
        .clone()
}

/// A message with an `event` field, if it is not empty, and one `data` field for each line.
fn message(event: &str, data: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(data.len() + 16);
    if !event.is_empty() {
        message.extend_from_slice(format!("event: {event}\n").as_bytes());
    }
    // A carriage return ends a line too.
    let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    for line in data.split(is_end) {
        message.extend_from_slice(b"data: ");
        message.extend_from_slice(line);
        message.push(b'\n');
    }
    message.push(b'\n');
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_a_field() {
        assert_eq!(message("", b"{}"), b"data: {}\n\n");
        assert_eq!(
            message("lost", b"a\nb"),
            b"event: lost\ndata: a\ndata: b\n\n"
        );
    }

    #[test]
    fn accept_must_include_event_streams() {
        for (accept, expected) in [
            ("text/event-stream", true),
            ("application/json, text/event-stream;q=0.5", true),
            ("*/*", true),
            ("application/yang-data+json", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(check_accept(&headers).is_ok(), expected, "{accept}");
        }
        assert!(check_accept(&HeaderMap::new()).is_ok());
    }
}
