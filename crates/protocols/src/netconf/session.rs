//! A session on a connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use espalier_service::session::{NewSession, Session, SessionKind, TerminationReason};
use espalier_yang::{DataError, ErrorTag, ErrorType, Errors};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::time::{Instant, timeout};

use super::capabilities::{PRIVATE_CANDIDATE, capabilities};
use super::configured::SendingConfigured;
use super::framing::{Decoder, Framing, Part};
use super::message::{Hello, Reply, ReplyStart};
use super::notifications::Sending;
use super::operations::{Message, Next, Request, Subscribed};
use super::outbox::{Outbox, send_all};
use super::server::{Inner, NetconfPeer, SessionEnd};
use crate::intake::{Intake, IntakeError, PartialBody, Staged};

/// The size of the blocks that are read from a connection.
const READ_BYTES: usize = 64 << 10;

/// How often a waiting session looks whether it was killed.
const KILL_CHECK: Duration = Duration::from_millis(500);

/// How long the messages of a session that ends are still sent.
const LAST_MESSAGES_MAX: Duration = Duration::from_secs(5);

/// Makes the names of the sessions of a process different.
static SESSIONS: AtomicU64 = AtomicU64::new(0);

/// Runs a session until it ends.
pub(super) async fn run<C>(server: &Arc<Inner>, connection: C, peer: NetconfPeer) -> SessionEnd
where
    C: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let number = SESSIONS.fetch_add(1, Ordering::Relaxed);
    let opened = server.service.sessions().open(NewSession {
        caller: peer.caller,
        transport: peer.transport,
        peer: peer.address,
        kind: SessionKind::Connection,
        name: server.service.connection_session_name(number),
    });
    let session = match opened {
        Ok(session) => session,
        Err(error) => return SessionEnd::Refused(error.to_string()),
    };
    let (reader, writer) = tokio::io::split(connection);
    let (outbox, frames) = Outbox::new();
    let sender = tokio::spawn(send_all(frames, writer, server.limits.reply_pause_max));
    let running = Running {
        server: Arc::clone(server),
        session: Arc::clone(&session),
        outbox,
        input: Input {
            reader,
            decoder: Decoder::new(),
            block: vec![0; READ_BYTES],
            filled: 0..0,
        },
        created: None,
        established: Vec::new(),
        call_home_client: peer.call_home_client,
        configured: None,
    };
    let end = running.run().await;
    tracing::info!(id = session.id().0, user = %session.caller().user, ?end, "a NETCONF session ended");
    // The outbox was dropped, so the sender ends when everything is sent.
    if timeout(LAST_MESSAGES_MAX, sender).await.is_err() {
        tracing::debug!("the last messages of a session were not received");
    }
    finish(server, &session, &end).await;
    end
}

/// Releases what a session has.
async fn finish(server: &Arc<Inner>, session: &Arc<Session>, end: &SessionEnd) {
    let reason = match end {
        // The operation released everything.
        SessionEnd::Killed | SessionEnd::Closed => return,
        SessionEnd::Timeout => TerminationReason::Timeout,
        SessionEnd::BadHello(_) => TerminationReason::BadHello,
        SessionEnd::Dropped
        | SessionEnd::Malformed(_)
        | SessionEnd::Shutdown
        | SessionEnd::Refused(_) => TerminationReason::Dropped,
    };
    let (server, session) = (Arc::clone(server), Arc::clone(session));
    let released = tokio::task::spawn_blocking(move || match server.anchor() {
        Ok(anchor) => server
            .service
            .running(&session, &anchor)
            .end_because(reason),
        // Without the anchor there are no locks.
        Err(_) => {
            server.service.sessions().close(session.id());
            Ok(())
        }
    });
    match released.await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::error!(%error, "the locks of a session were not released"),
        Err(error) => tracing::error!(%error, "the end of a session failed"),
    }
}

/// A session with its connection.
struct Running<R> {
    server: Arc<Inner>,
    session: Arc<Session>,
    outbox: Outbox,
    input: Input<R>,
    /// The subscription of `create-subscription`.
    created: Option<Sending>,
    /// Those of `establish-subscription`.
    established: Vec<Sending>,
    /// The client, if the server called it.
    call_home_client: Option<Arc<str>>,
    /// Those of the configuration.
    configured: Option<SendingConfigured>,
}

/// What arrives on a connection.
struct Input<R> {
    reader: R,
    decoder: Decoder,
    block: Vec<u8>,
    /// The bytes of the block that were not decoded yet.
    filled: std::ops::Range<usize>,
}

impl<R: AsyncRead + Unpin> Running<R> {
    async fn run(mut self) -> SessionEnd {
        match self.messages().await {
            Ok(end) | Err(end) => end,
        }
    }

    /// Exchanges messages. `Err` is an end in the middle.
    async fn messages(&mut self) -> Result<SessionEnd, SessionEnd> {
        let framing = self.greet().await?;
        self.input.decoder.set_framing(framing);
        if let Some(client) = &self.call_home_client {
            let feed = self.server.service.configured_feed(&self.session, client);
            let (server, outbox) = (Arc::clone(&self.server), self.outbox.clone());
            let sending = SendingConfigured::begin(server, feed, (outbox, framing));
            self.configured = Some(sending);
        }
        loop {
            let message = self.message(framing).await?;
            let request = Request {
                server: Arc::clone(&self.server),
                session: Arc::clone(&self.session),
                framing,
                message,
                subscribed: self.subscribed(),
            };
            match self.answer(request).await? {
                Next::Continue => {}
                Next::Notify(subscription, kind) => {
                    let sending = Sending::begin(
                        *subscription,
                        (self.outbox.clone(), framing),
                        self.server.anchors.server().replays(),
                    );
                    match kind {
                        Subscribed::Established => self.established.push(sending),
                        Subscribed::None | Subscribed::Created => self.created = Some(sending),
                    }
                }
                Next::End(end) => return Ok(end),
            }
        }
    }

    /// The subscriptions that have not ended.
    fn subscribed(&mut self) -> Subscribed {
        self.created.take_if(|sending| sending.is_ended());
        self.established.retain(|sending| !sending.is_ended());
        let configured = self.configured.as_ref();
        let has_configured = configured.is_some_and(SendingConfigured::is_receiving);
        match &self.created {
            Some(_) => Subscribed::Created,
            None if has_configured || !self.established.is_empty() => Subscribed::Established,
            None => Subscribed::None,
        }
    }

    /// Exchanges the `hello` messages. Neither side waits for the other.
    async fn greet(&mut self) -> Result<Framing, SessionEnd> {
        let anchor = self.server.anchor();
        let anchor = anchor.map_err(|errors| SessionEnd::Refused(errors.to_string()))?;
        let own = capabilities(&self.server, &anchor);
        let own = own.map_err(|error| SessionEnd::Refused(error.to_string()))?;
        let text = Hello::print(&own, Some(self.session.id().0));
        let sent = self.outbox.send(Framing::EndOfMessage, &text).await;
        sent.map_err(|_| SessionEnd::Dropped)?;
        let limits = self.server.limits.clone();
        let intake = self.server.intake.clone();
        let received = self.input.message(&intake, limits.hello_bytes_max, None);
        let waited = tokio::select! {
            waited = timeout(limits.hello_time_max, received) => waited,
            () = self.server.ended() => return Err(SessionEnd::Shutdown),
            () = killed(&self.session) => return Err(SessionEnd::Killed),
        };
        let message = waited.map_err(|_| SessionEnd::Timeout)?;
        let message = match message {
            Ok(message) => message,
            Err(InputEnd::Dropped) => return Err(SessionEnd::Dropped),
            Err(InputEnd::Timeout) => return Err(SessionEnd::Timeout),
            Err(InputEnd::TooBig) => {
                let message = format!("longer than {} bytes", limits.hello_bytes_max);
                return Err(SessionEnd::BadHello(message));
            }
            Err(InputEnd::Wrong(message) | InputEnd::NoRoom(message)) => {
                return Err(SessionEnd::BadHello(message));
            }
        };
        let bad = |error: &dyn std::fmt::Display| SessionEnd::BadHello(error.to_string());
        let held = intake.hold(message).await.map_err(|error| bad(&error))?;
        let text = std::str::from_utf8(held.bytes()).map_err(|error| bad(&error))?;
        let hello = Hello::parse(text).map_err(|error| bad(&error))?;
        if hello.has(PRIVATE_CANDIDATE) {
            self.session.use_private_candidate();
        }
        Ok(hello.framing)
    }

    /// The next request.
    async fn message(&mut self, framing: Framing) -> Result<Message, SessionEnd> {
        let intake = self.server.intake.clone();
        let limits = self.server.limits.clone();
        let idle_max = match self.subscribed() {
            Subscribed::None => limits.idle_time_max,
            Subscribed::Created | Subscribed::Established => None,
        };
        let idle_until = idle_max.map(|max| Instant::now() + max);
        let received = {
            let pause_max = Some(limits.message_pause_max);
            let received = self
                .input
                .message(&intake, limits.message_bytes_max, pause_max);
            tokio::pin!(received);
            loop {
                tokio::select! {
                    received = &mut received => break received,
                    () = self.server.ended() => return Err(SessionEnd::Shutdown),
                    () = tokio::time::sleep(KILL_CHECK) => {}
                }
                if self.session.is_killed() {
                    return Err(SessionEnd::Killed);
                }
                if idle_until.is_some_and(|until| Instant::now() >= until) {
                    return Err(SessionEnd::Timeout);
                }
            }
        };
        let error = match received {
            Ok(message) if message.length() > limits.held_bytes_max => {
                let reader = message.into_reader();
                return Ok(Message::Large(reader.map_err(|_| SessionEnd::Dropped)?));
            }
            Ok(message) => match intake.hold(message).await {
                Ok(held) => return Ok(Message::Held(held)),
                Err(error) => (ErrorTag::ResourceDenied, error.to_string()),
            },
            Err(InputEnd::NoRoom(reason)) => (ErrorTag::ResourceDenied, reason),
            Err(InputEnd::Dropped) => return Err(SessionEnd::Dropped),
            Err(InputEnd::Timeout) => return Err(SessionEnd::Timeout),
            Err(InputEnd::Wrong(reason)) => (ErrorTag::MalformedMessage, reason),
            Err(InputEnd::TooBig) => {
                let max = limits.message_bytes_max;
                let reason = format!("the message is longer than {max} bytes (message_bytes_max)");
                (ErrorTag::TooBig, reason)
            }
        };
        let (tag, reason) = error;
        self.reject(framing, tag, &reason).await;
        Err(SessionEnd::Malformed(reason))
    }

    /// Sends the error of a message that could not be read. The session then ends.
    async fn reject(&self, framing: Framing, tag: ErrorTag, reason: &str) {
        // The tag does not exist in base:1.0 (RFC 6241 appendix A).
        if framing == Framing::EndOfMessage && tag == ErrorTag::MalformedMessage {
            return;
        }
        let error = DataError::new(tag, reason).of_type(ErrorType::Rpc);
        let text = error_reply(ReplyStart::unknown(), &error.into());
        // The client may be gone.
        let _ = self.outbox.send(framing, &text).await;
    }

    /// Runs an operation, and sends its reply.
    async fn answer(&self, request: Request) -> Result<Next, SessionEnd> {
        let user = &self.session.caller().user;
        let permit = self.server.operation_permit(user).await;
        let turn = self.outbox.turn().await;
        let answered = tokio::task::spawn_blocking(move || {
            // Held until the operation ends, even if the session does not wait for it.
            let _permit = permit;
            request.answer(&turn)
        });
        match answered.await {
            Ok(Ok(next)) => Ok(next),
            // The client is gone, or does not read.
            Ok(Err(_)) => Err(SessionEnd::Dropped),
            Err(error) => {
                tracing::error!(%error, "an operation of a NETCONF session panicked");
                Err(SessionEnd::Malformed("internal error".to_owned()))
            }
        }
    }
}

/// Completes when a session was killed.
async fn killed(session: &Session) {
    while !session.is_killed() {
        tokio::time::sleep(KILL_CHECK).await;
    }
}

/// A reply with errors only.
fn error_reply(start: ReplyStart, errors: &Errors) -> String {
    let written = Reply::begin(Vec::new(), start).and_then(|mut reply| {
        reply.errors(errors, None)?;
        reply.finish()
    });
    // Writing to memory does not fail.
    String::from_utf8(written.unwrap_or_default()).unwrap_or_default()
}

/// Why no message is received.
enum InputEnd {
    Dropped,
    Timeout,
    TooBig,
    /// There is no room for the message, in memory or in a file.
    NoRoom(String),
    /// The bytes are no frame.
    Wrong(String),
}

impl From<IntakeError> for InputEnd {
    fn from(error: IntakeError) -> Self {
        match error {
            IntakeError::TooLarge { .. } => Self::TooBig,
            error => Self::NoRoom(error.to_string()),
        }
    }
}

impl<R: AsyncRead + Unpin> Input<R> {
    /// The next message. Between its parts it waits at most `pause_max`.
    async fn message(
        &mut self,
        intake: &Intake,
        bytes_max: u64,
        pause_max: Option<Duration>,
    ) -> Result<Staged, InputEnd> {
        let mut message = PartialBody::new(intake, bytes_max);
        loop {
            let mut input = &self.block[self.filled.clone()];
            while let Some(part) = self
                .decoder
                .next(&mut input)
                .map_err(|error| InputEnd::Wrong(error.to_string()))?
            {
                match part {
                    Part::Data(data) => message.receive(Bytes::copy_from_slice(data)).await?,
                    Part::End => {
                        self.filled = self.filled.end - input.len()..self.filled.end;
                        return Ok(message.finish().await?);
                    }
                }
            }
            let read = self.reader.read(&mut self.block);
            let read = match pause_max.filter(|_| self.decoder.is_in_message()) {
                Some(max) => timeout(max, read).await.map_err(|_| InputEnd::Timeout)?,
                None => read.await,
            };
            match read {
                Ok(0) | Err(_) => return Err(InputEnd::Dropped),
                Ok(read) => self.filled = 0..read,
            }
        }
    }
}
