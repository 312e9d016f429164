//! What every operation has.

use std::cell::{Cell, OnceCell, RefCell};
use std::fmt::Display;
use std::future::Future;
use std::io::{Write, stderr};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use espalier_protocols::netconf_client::operations::PRIVATE_CANDIDATE;
use espalier_protocols::netconf_client::{
    ClientError, Notifications, Reply, ReplyStream, Session, Target, connect,
};
use espalier_terminal::output::escaped;
use espalier_terminal::{Failure, Result};
use espalier_yang::Schema;

use super::connection::Client;
use super::failure::{interrupted, of_client};
use super::server_modules;

/// The form of results.
#[derive(Args, Clone, Debug, Default)]
pub struct OutputForm {
    /// Print results and errors as JSON on standard output; XML is a string in it, without --output json
    #[arg(long, global = true)]
    pub json: bool,

    /// The form of data: as the server sends them, or as JSON (RFC 7951), which needs the modules [default: xml]
    #[arg(long, global = true, value_name = "FORM")]
    pub output: Option<DataForm>,
}

impl OutputForm {
    /// This form, with that of `others` where it has none.
    pub fn over(&self, others: &Self) -> Self {
        Self {
            json: self.json || others.json,
            output: self.output.or(others.output),
        }
    }
}

/// The form of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DataForm {
    #[default]
    Xml,
    Json,
}

/// A session, and the form of results.
pub struct Context {
    pub client: Client,
    pub session: Session,
    pub form: OutputForm,
    pub target: Target,
    /// What `-` is in the shell, if the line has a here-document.
    pub here_document: Cell<Option<String>>,
    /// Those of the session, while no operation prints them.
    notifications: RefCell<Option<Notifications>>,
    schema: OnceCell<Arc<Schema>>,
    /// Whether a person has interrupted a wait.
    is_interrupted: Cell<bool>,
}

impl Context {
    /// Begins a session.
    ///
    /// # Errors
    /// Those of connecting.
    pub fn connect(client: Client, target: &Target, form: &OutputForm) -> Result<Self> {
        if let Target::CallHomeSsh { listen, .. } | Target::CallHomeTls(listen) = target {
            // A failed write to standard error cannot be reported.
            let _ = writeln!(stderr(), "waiting for a server that calls home to {listen}");
        }
        let connecting = connect(target, &client.options);
        let session = until_interrupted(&client, connecting)?;
        let session = session.map_err(|error| of_client(error, form.json))?;
        let capabilities = &client.options.capabilities;
        let is_private = capabilities.iter().any(|one| one == PRIVATE_CANDIDATE);
        if is_private && !session.hello().has(PRIVATE_CANDIDATE) {
            // Its edits would be those of the candidate that all sessions share.
            return Err(Failure::data("the server has no private candidates"));
        }
        Ok(Self {
            client,
            session,
            form: form.clone(),
            target: target.clone(),
            here_document: Cell::default(),
            notifications: RefCell::default(),
            schema: OnceCell::new(),
            is_interrupted: Cell::new(false),
        })
    }

    /// Waits for something; an interrupt (ctrl-c) ends the wait.
    ///
    /// # Errors
    /// Those of the future, and the interrupt.
    pub fn wait<T>(
        &self,
        future: impl Future<Output = std::result::Result<T, ClientError>>,
    ) -> Result<T> {
        let done = until_interrupted(&self.client, future);
        self.is_interrupted.set(done.is_err());
        done?.map_err(|error| of_client(error, self.form.json))
    }

    /// Sends an operation and waits for its reply. Warnings go to standard error.
    ///
    /// # Errors
    /// Those of the session, and of the reply.
    pub fn request(&self, operation: impl Display) -> Result<Reply> {
        let reply = self.wait(self.session.request(operation))?;
        for warning in reply.warnings() {
            // A failed write to standard error cannot be reported.
            let _ = writeln!(stderr(), "warning: {}", escaped(&warning.to_string()));
        }
        Ok(reply)
    }

    /// Sends an operation, whose reply is received in parts.
    ///
    /// # Errors
    /// Those of the session.
    pub fn begin(&self, operation: impl Display) -> Result<ReplyStream> {
        self.wait(self.session.begin(operation))
    }

    /// Takes the notifications of the session; [`Self::keep`] gives them back.
    ///
    /// # Errors
    /// They are taken.
    pub fn notifications(&self) -> Result<Notifications> {
        let kept = self.notifications.borrow_mut().take();
        let notifications = kept.or_else(|| self.session.notifications());
        notifications.ok_or_else(|| Failure::usage("the session has a subscription already"))
    }

    /// Keeps the notifications of the session, for the next operation that prints them.
    pub fn keep(&self, notifications: Notifications) {
        self.notifications.replace(Some(notifications));
    }

    /// The modules of the server: those of `--yang`, else fetched from it.
    ///
    /// # Errors
    /// They cannot be fetched, or do not compile.
    pub fn schema(&self) -> Result<&Arc<Schema>> {
        if let Some(schema) = self.schema.get() {
            return Ok(schema);
        }
        let schema = server_modules::schema(self)?;
        Ok(self.schema.get_or_init(|| schema))
    }
}

impl Drop for Context {
    /// Ends the session, also after an error: a server counts a lost connection as a fault.
    fn drop(&mut self) {
        if self.is_interrupted.get() || self.session.is_ended() {
            return;
        }
        // Everything was done; what a server does at the end of a session is its own.
        if let Err(error) = self.client.runtime.block_on(self.session.close()) {
            tracing::debug!(%error, "close-session failed");
        }
    }
}

/// Waits for something; an interrupt (ctrl-c) ends the wait.
fn until_interrupted<T>(client: &Client, future: impl Future<Output = T>) -> Result<T> {
    client.runtime.block_on(async {
        tokio::select! {
            done = future => Ok(done),
            _ = tokio::signal::ctrl_c() => Err(interrupted()),
        }
    })
}
