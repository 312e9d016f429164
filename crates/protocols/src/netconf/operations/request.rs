//! From a message to its reply.

use std::io::{self, Read, Write};
use std::sync::Arc;

use espalier_service::SessionDatastore;
use espalier_service::notifications::Subscription;
use espalier_service::session::{Session, TerminationReason};
use espalier_yang::{DataError, ErrorTag, ErrorType, Errors, Schema};

use super::output::{Failure, Output, Result, write_nodes};
use super::parameters::{NMDA_NAMESPACE, protocol_error};
use super::partial_lock::{self, PARTIAL_LOCK_NAMESPACE};
use super::subscribe::{self, NOTIFICATION_NAMESPACE, SUBSCRIBED_NAMESPACE};
use super::{copy, edit, invoke, large, read};
use crate::intake::{Held, StagedReader};
use crate::netconf::framing::{Framing, MessageWriter};
use crate::netconf::message::{
    BASE_NAMESPACE, Element, PartialRpc, Reply, ReplyStart, Rpc, RpcError,
};
use crate::netconf::outbox::Turn;
use crate::netconf::server::{Inner, SessionEnd};
use crate::netconf::url::UrlAccess;

/// Bytes of a reply that are kept until it is complete, so that an error can still replace it.
const HELD_BYTES_MAX: usize = 64 << 10;

/// A message of a client.
pub(in crate::netconf) struct Request {
    pub server: Arc<Inner>,
    pub session: Arc<Session>,
    pub framing: Framing,
    pub message: Message,
    /// The subscriptions of the session.
    pub subscribed: Subscribed,
}

/// The text of a message.
pub(in crate::netconf) enum Message {
    /// In memory.
    Held(Held),
    /// In a file, because it is large.
    Large(StagedReader),
}

/// Which subscriptions a session has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::netconf) enum Subscribed {
    None,
    /// That of `create-subscription` (RFC 5277).
    Created,
    /// Those of `establish-subscription` (RFC 8639).
    Established,
}

/// What follows a request.
pub(in crate::netconf) enum Next {
    Continue,
    /// The notifications of a subscription, of `create-subscription` or of `establish-subscription`.
    Notify(Box<Subscription>, Subscribed),
    End(SessionEnd),
}

/// The result of an operation.
enum Answered {
    /// Its reply was sent.
    Sent(Next),
    /// It failed, with the schema of the paths of the errors. Nothing was sent.
    Failed(Errors, Option<Arc<Schema>>),
}

impl Request {
    /// Runs the operation, and writes its reply. An error is one of the connection.
    pub fn answer(mut self, turn: &Turn) -> io::Result<Next> {
        match std::mem::replace(&mut self.message, Message::Held(Held::default())) {
            Message::Held(held) => match std::str::from_utf8(held.bytes()) {
                Ok(text) => self.answer_text(text, turn),
                Err(error) => self.malformed(format!("the message is not UTF-8: {error}"), turn),
            },
            Message::Large(reader) => self.answer_large(reader, turn),
        }
    }

    /// Rejects a message that is no request, which ends the session.
    fn malformed(&self, reason: String, turn: &Turn) -> io::Result<Next> {
        self.session.record_bad_request();
        // The tag does not exist in base:1.0 (RFC 6241 appendix A).
        if self.framing == Framing::Chunked {
            let error = DataError::new(ErrorTag::MalformedMessage, reason.clone());
            let errors = error.of_type(ErrorType::Rpc).into();
            self.reply_errors(turn, ReplyStart::unknown(), &errors, None)?;
        }
        Ok(Next::End(SessionEnd::Malformed(reason)))
    }

    /// Answers a request whose data are in a file.
    fn answer_large(&self, mut reader: StagedReader, turn: &Turn) -> io::Result<Next> {
        let mut begin = Vec::new();
        let begin_bytes = large::BEGIN_BYTES as u64;
        reader.by_ref().take(begin_bytes).read_to_end(&mut begin)?;
        let text = begin.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let rpc = match PartialRpc::parse(text) {
            Ok(Some(rpc)) => rpc,
            Ok(None) | Err(_) => {
                let errors = large::too_big().into();
                self.reply_errors(turn, ReplyStart::unknown(), &errors, None)?;
                return Ok(Next::End(SessionEnd::Malformed("too large".to_owned())));
            }
        };
        let rest = begin[text.len()..].chain(reader);
        let performed = self
            .running()
            .map_err(Failure::from)
            .and_then(|running| large::load(&running, &rpc, text, rest));
        match performed {
            Ok(_) => {
                let mut reply = Reply::begin(turn.writer(self.framing), rpc.reply)?;
                reply.ok()?;
                reply.finish()?.finish()?;
            }
            Err(Failure::Connection(error)) => return Err(error),
            Err(Failure::Errors(errors)) => self.reply_errors(turn, rpc.reply, &errors, None)?,
        }
        Ok(Next::Continue)
    }

    fn answer_text(&self, text: &str, turn: &Turn) -> io::Result<Next> {
        let rpc = match Rpc::parse(text) {
            Ok(rpc) => rpc,
            Err(RpcError::Wrong(start, error)) => {
                self.session.record_bad_request();
                self.reply_errors(turn, start, &(*error).into(), None)?;
                return Ok(Next::Continue);
            }
            Err(RpcError::Malformed(reason)) => return self.malformed(reason, turn),
        };
        match self.answer_rpc(&rpc, turn)? {
            Answered::Sent(next) => Ok(next),
            // Nothing was changed, and nothing was sent.
            Answered::Failed(..) if self.server.renew_anchor() => {
                match self.answer_rpc(&rpc, turn)? {
                    Answered::Sent(next) => Ok(next),
                    Answered::Failed(errors, schema) => self.fail(turn, rpc, &errors, schema),
                }
            }
            Answered::Failed(errors, schema) => self.fail(turn, rpc, &errors, schema),
        }
    }

    fn fail(
        &self,
        turn: &Turn,
        rpc: Rpc<'_>,
        errors: &Errors,
        schema: Option<Arc<Schema>>,
    ) -> io::Result<Next> {
        self.reply_errors(turn, rpc.reply, errors, schema.as_deref())?;
        Ok(Next::Continue)
    }

    /// Runs an operation, and sends its reply unless it fails.
    fn answer_rpc(&self, rpc: &Rpc<'_>, turn: &Turn) -> io::Result<Answered> {
        let running = match self.running() {
            Ok(running) => running,
            Err(errors) => return Ok(Answered::Failed(errors, None)),
        };
        let held = HeldWriter {
            held: Vec::new(),
            writer: turn.writer(self.framing),
            is_sent: false,
        };
        let mut reply = Reply::begin(held, rpc.reply.clone())?;
        let performed = self
            .check_subscribed(&rpc.operation)
            .and_then(|()| perform(&running, &self.server.urls, &rpc.operation, &mut reply))
            .and_then(|output| write_output(&mut reply, output));
        let next = match performed {
            Ok(next) => {
                reply.finish()?.finish()?;
                next
            }
            Err(Failure::Connection(error)) => return Err(error),
            Err(Failure::Errors(errors)) => {
                if reply.content().is_sent {
                    let message = format!("a reply failed after its begin was sent: {errors}");
                    return Err(io::Error::other(message));
                }
                let schema = Arc::clone(running.schema());
                return Ok(Answered::Failed(errors, Some(schema)));
            }
        };
        Ok(Answered::Sent(
            match rpc.operation.is(BASE_NAMESPACE, "close-session") {
                true => Next::End(SessionEnd::Closed),
                false => next,
            },
        ))
    }

    /// Rejects a second subscription of RFC 5277, and one of each kind (RFC 8640 §3).
    fn check_subscribed(&self, operation: &Element<'_>) -> Result<()> {
        let is_create = operation.is(NOTIFICATION_NAMESPACE, "create-subscription");
        let is_establish = operation.is(SUBSCRIBED_NAMESPACE, "establish-subscription");
        let (tag, message) = match self.subscribed {
            Subscribed::Created if is_create => (
                ErrorTag::OperationFailed,
                "the session has a subscription already",
            ),
            Subscribed::Created if is_establish => (
                ErrorTag::OperationNotSupported,
                "the session has a subscription of create-subscription",
            ),
            Subscribed::Established if is_create => (
                ErrorTag::OperationNotSupported,
                "the session has a subscription of establish-subscription",
            ),
            _ => return Ok(()),
        };
        Err(protocol_error(tag, message).into())
    }

    /// Running of the anchor as it is now.
    fn running(&self) -> std::result::Result<SessionDatastore, Errors> {
        let anchor = self.server.anchor()?;
        Ok(self.server.service.running(&self.session, &anchor))
    }

    fn reply_errors(
        &self,
        turn: &Turn,
        start: ReplyStart,
        errors: &Errors,
        schema: Option<&Schema>,
    ) -> io::Result<()> {
        let errors = errors
            .clone()
            .map(|error| match error.info().session_id.clone() {
                Some(owner) => {
                    let holder = self.server.service.sessions().of_owner(&owner);
                    error.held_by(holder.map_or(0, |holder| holder.id().0).to_string())
                }
                None => error,
            });
        let mut reply = Reply::begin(turn.writer(self.framing), start)?;
        reply.errors(&errors, schema)?;
        reply.finish()?.finish()
    }
}

/// Runs an operation.
fn perform<W: Write>(
    running: &SessionDatastore,
    urls: &UrlAccess,
    operation: &Element<'_>,
    reply: &mut Reply<W>,
) -> Result<Output> {
    match (&*operation.namespace, &*operation.name) {
        (BASE_NAMESPACE, "get") => read::get(running, operation, reply),
        (BASE_NAMESPACE, "get-config") => read::get_config(running, operation, reply),
        (NMDA_NAMESPACE, "get-data") => read::get_data(running, operation, reply),
        (BASE_NAMESPACE, "edit-config") => edit::edit_config(running, urls, operation),
        (NMDA_NAMESPACE, "edit-data") => edit::edit_data(running, urls, operation),
        (BASE_NAMESPACE, "delete-config") => edit::delete_config(running, urls, operation),
        (BASE_NAMESPACE, "copy-config") => copy::copy_config(running, urls, operation),
        (BASE_NAMESPACE, "validate") => edit::validate(running, urls, operation),
        (BASE_NAMESPACE, "close-session") => {
            // Before the reply: a client that has it may begin another session, which finds no lock of this one.
            running.end_because(TerminationReason::Closed)?;
            Ok(Output::Ok)
        }
        (PARTIAL_LOCK_NAMESPACE, "partial-lock") => partial_lock::lock(running, operation, reply),
        (PARTIAL_LOCK_NAMESPACE, "partial-unlock") => partial_lock::unlock(running, operation),
        (NOTIFICATION_NAMESPACE, "create-subscription") => subscribe::create(running, operation),
        (invoke::YANG_NAMESPACE, "action") => invoke::action(running, operation),
        _ => invoke::rpc(running, operation),
    }
}

fn write_output<W: Write>(reply: &mut Reply<W>, output: Output) -> Result<Next> {
    match output {
        Output::Ok => reply.ok()?,
        Output::Nodes(_, tree) if tree.nodes.is_empty() => reply.ok()?,
        Output::Nodes(schema, tree) => write_nodes(reply.content(), &schema, &tree)?,
        Output::Written => {}
        Output::Subscribed(subscription) => {
            reply.ok()?;
            return Ok(Next::Notify(subscription, Subscribed::Created));
        }
        Output::Established(schema, tree, subscription) => {
            write_nodes(reply.content(), &schema, &tree)?;
            return Ok(Next::Notify(subscription, Subscribed::Established));
        }
    }
    Ok(Next::Continue)
}

/// Holds the begin of a reply.
struct HeldWriter<S: FnMut(bytes::Bytes) -> io::Result<()>> {
    held: Vec<u8>,
    writer: MessageWriter<S>,
    is_sent: bool,
}

impl<S: FnMut(bytes::Bytes) -> io::Result<()>> HeldWriter<S> {
    /// Ends the message.
    fn finish(mut self) -> io::Result<()> {
        self.writer.write_all(&self.held)?;
        self.writer.finish()
    }
}

impl<S: FnMut(bytes::Bytes) -> io::Result<()>> Write for HeldWriter<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_sent {
            self.held.extend_from_slice(bytes);
            if self.held.len() > HELD_BYTES_MAX {
                self.is_sent = true;
                let held = std::mem::take(&mut self.held);
                self.writer.write_all(&held)?;
            }
            return Ok(bytes.len());
        }
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
