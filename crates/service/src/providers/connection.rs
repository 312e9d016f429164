//! The connection of one program.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use espalier_yang::{DataError, ErrorTag, ErrorType, Errors};
use parking_lot::Mutex;
use serde_json::{Map, Value as Json, json};

use super::messages::{Answer, ProgramMessage};
use super::outbox::{Outbox, OutboxError};
use super::state::PushedState;

/// The default timeout of calls for state and commits.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum number of calls of a program that wait for its answers.
pub const PROVIDER_CALLS_PENDING_MAX: usize = 256;

/// How often a waiting call looks whether it is still wanted.
const WANTED_CHECK: Duration = Duration::from_millis(200);

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallFailure {
    /// The program did not answer in time.
    TimedOut(Duration),
    /// The connection ended.
    Gone,
    /// Too many calls wait for the program.
    Busy,
    /// Nobody waits for the answer any more.
    Unwanted,
    /// The program refused, or failed.
    Refused(Errors),
}

impl fmt::Display for CallFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut(timeout) => write!(f, "no answer within {timeout:?}"),
            Self::Gone => f.write_str("the connection to the program ended"),
            Self::Busy => write!(
                f,
                "{PROVIDER_CALLS_PENDING_MAX} calls wait for its answers (PROVIDER_CALLS_PENDING_MAX)"
            ),
            Self::Unwanted => f.write_str("the session ended"),
            Self::Refused(errors) => write!(f, "{errors}"),
        }
    }
}

impl std::error::Error for CallFailure {}

impl CallFailure {
    /// The errors for the client; `program` is the name of the program.
    pub(super) fn into_errors(self, program: &str) -> Errors {
        let app_tag = match self {
            Self::Refused(errors) => return errors,
            Self::TimedOut(_) => "timeout",
            Self::Gone => "provider-unavailable",
            Self::Busy | Self::Unwanted => "provider-busy",
        };
        let tag = match self {
            Self::Busy => ErrorTag::ResourceDenied,
            _ => ErrorTag::OperationFailed,
        };
        let error = DataError::new(tag, format!("{program}: {self}"));
        error.with_app_tag(app_tag).of_type(ErrorType::Rpc).into()
    }
}

/// The connection of one program.
pub struct ProviderConnection {
    id: String,
    name: String,
    user: String,
    outbox: Outbox,
    last_call: AtomicU64,
    pending: Mutex<HashMap<u64, SyncSender<Answer>>>,
    pub(super) pushed: PushedState,
}

impl fmt::Debug for ProviderConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderConnection")
            .field("name", &self.name)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

impl ProviderConnection {
    pub(super) fn new(id: String, name: String, user: String) -> Self {
        Self {
            id,
            name,
            user,
            outbox: Outbox::default(),
            last_call: AtomicU64::new(0),
            pending: Mutex::default(),
            pushed: PushedState::default(),
        }
    }

    /// What the program proves with that an answer is its own; not shown to others.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name of the program.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The user who connected it.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The next message for the program; `None` if there is none within the time, or the connection is closed.
    pub fn next_message(&self, timeout: Duration) -> Option<String> {
        self.outbox.next(timeout)
    }

    /// Whether a call waits for an answer.
    pub fn is_called(&self) -> bool {
        !self.pending.lock().is_empty()
    }

    /// Whether it is closed.
    pub fn is_closed(&self) -> bool {
        self.outbox.is_closed()
    }

    /// Closes the connection: calls in progress fail.
    pub fn close(&self) {
        self.outbox.close();
        self.pending.lock().clear();
    }

    /// Handles a message of the program.
    ///
    /// # Errors
    /// `malformed-message` if it is none of those that are documented; `invalid-value` for pushed data that does not
    /// conform to the models.
    pub fn receive(&self, message: &Json) -> Result<(), Errors> {
        match ProgramMessage::parse(message)? {
            ProgramMessage::Answer(call, answer) => {
                // An answer that comes too late is dropped: nobody waits for it.
                match self.pending.lock().remove(&call) {
                    Some(waiting) => drop(waiting.send(answer)),
                    None => tracing::debug!(program = self.name, call, "an answer came too late"),
                }
                Ok(())
            }
            ProgramMessage::Push(path, data) => self.pushed.replace(&path, &data),
        }
    }

    /// Sends a message that needs no answer; the connection is closed if too many messages wait.
    pub(super) fn send(&self, message: &Json) {
        if let Err(OutboxError::Full) = self.outbox.push(message.to_string()) {
            tracing::warn!(
                program = self.name,
                "a program does not read its messages, and was disconnected"
            );
            self.close();
        }
    }

    /// As [`Self::send`]; waits while too many messages wait. Returns whether the connection is still open.
    pub(super) fn send_waiting(&self, message: &Json) -> bool {
        self.outbox.push_waiting(message.to_string()).is_ok()
    }

    /// Calls the program, and waits for its answer.
    pub(super) fn call(
        &self,
        kind: &str,
        mut message: Map<String, Json>,
        timeout: Duration,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<Answer, CallFailure> {
        let call = self.last_call.fetch_add(1, Ordering::Relaxed) + 1;
        message.insert("call".to_owned(), call.into());
        message.insert("kind".to_owned(), kind.into());
        message.insert("timeout".to_owned(), json!(timeout.as_secs_f64()));
        let (sender, receiver) = sync_channel(1);
        {
            let mut pending = self.pending.lock();
            if pending.len() >= PROVIDER_CALLS_PENDING_MAX {
                return Err(CallFailure::Busy);
            }
            pending.insert(call, sender);
        }
        let sent = self.outbox.push(Json::Object(message).to_string());
        if let Err(error) = sent {
            self.pending.lock().remove(&call);
            return Err(match error {
                OutboxError::Full => CallFailure::Busy,
                OutboxError::Closed => CallFailure::Gone,
            });
        }
        let deadline = Instant::now() + timeout;
        let failure = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match receiver.recv_timeout(left.min(WANTED_CHECK)) {
                Ok(Answer::Errors(errors)) => return Err(CallFailure::Refused(errors)),
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => return Err(CallFailure::Gone),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    break CallFailure::TimedOut(timeout);
                }
                Err(RecvTimeoutError::Timeout) if !is_wanted() => break CallFailure::Unwanted,
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        self.pending.lock().remove(&call);
        tracing::warn!(program = self.name, %failure, kind, "a call of a program failed");
        self.send(&json!({ "cancel": call }));
        Err(failure)
    }
}

/// A connection, as its roles hold it.
pub(super) type SharedConnection = Arc<ProviderConnection>;

/// The data that an answer must have.
pub(super) fn data_of(answer: Answer) -> Option<Json> {
    match answer {
        Answer::Data(data) => Some(data),
        Answer::Done | Answer::Errors(_) => None,
    }
}
