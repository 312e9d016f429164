//! A connection to the server. The calling thread drives it, with a runtime that belongs to the connection, so
//! that no other thread has to wake up for a response.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime, RuntimeFlavor};
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Error, Row, Statement};

use super::error::Failure;
use super::setup::Setup;
use super::statements::Query;
use super::tls::Connector;

/// A step of a pipeline.
pub(super) enum Step<'a> {
    /// Statements as text. Their rows are ignored.
    Text(&'a str),
    /// A prepared statement and its parameters.
    Query(Query, Vec<&'a (dyn ToSql + Sync)>),
}

/// An open connection.
pub(in crate::postgres) struct Connection {
    client: Client,
    io: Io,
    statements: Vec<Statement>,
    single_commit: OptionalStatement,
    pub(super) copy: OptionalStatement,
    pub(super) schema: String,
    timeout: Duration,
}

/// A prepared statement that not every PostgreSQL-compatible server supports.
pub(super) enum OptionalStatement {
    NotTried,
    Refused,
    Prepared(Statement),
}

impl OptionalStatement {
    /// Classifies the result of preparing it. Fails if the connection is not usable any more.
    pub(super) fn of(prepared: Result<Statement, Failure>, what: &str) -> Result<Self, Failure> {
        match prepared {
            Ok(statement) => Ok(Self::Prepared(statement)),
            Err(failure) => {
                tracing::info!(%failure, "the server does not support {what}");
                failure.unless_refusal()?;
                Ok(Self::Refused)
            }
        }
    }

    pub(super) fn statement(&self) -> Option<&Statement> {
        match self {
            Self::Prepared(statement) => Some(statement),
            _ => None,
        }
    }
}

/// The runtime and the socket of a connection.
struct Io {
    /// `None` only while a call uses it or it is dropped.
    runtime: Option<Runtime>,
    /// `None` if the connection has ended. Dropping it fails all calls that wait for a response.
    link: Option<Link>,
    notified: bool,
}

type Link = Box<dyn FnMut(&mut Context<'_>) -> Poll<Option<Result<AsyncMessage, Error>>> + Send>;

/// Blocks until a future is ready. In a task of a multi-threaded runtime, this blocks the worker thread, and the
/// runtime moves its other tasks to other threads; such callers should rather use a thread of their own.
fn wait<F: Future>(runtime: &Runtime, future: F) -> F::Output {
    let is_in_task = Handle::try_current()
        .is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    match is_in_task {
        true => tokio::task::block_in_place(|| runtime.block_on(future)),
        false => runtime.block_on(future),
    }
}

impl Connection {
    /// Connects, sets up the session, and prepares the statements.
    pub(super) fn open(setup: &Setup) -> Result<Self, Failure> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Failure::Io)?;
        let connector = Connector::new(&setup.config).map_err(Failure::Tls)?;
        let opened = wait(&runtime, async {
            let connecting = setup.config.server.connect(connector);
            tokio::time::timeout(setup.connect_timeout(), connecting).await
        });
        let (client, mut connection) = match opened {
            Ok(Ok(opened)) => opened,
            Ok(Err(error)) => {
                runtime.shutdown_background();
                return Err(Failure::Database(error));
            }
            Err(_) => {
                runtime.shutdown_background();
                return Err(Failure::Timeout(setup.connect_timeout()));
            }
        };
        let mut connection = Self {
            client,
            io: Io {
                runtime: Some(runtime),
                link: Some(Box::new(move |context| connection.poll_message(context))),
                notified: false,
            },
            statements: Vec::new(),
            single_commit: OptionalStatement::NotTried,
            copy: OptionalStatement::NotTried,
            schema: setup.config.schema.clone(),
            timeout: setup.answer_timeout(),
        };
        let optional: Vec<_> = setup.session_optional().map(Step::Text).collect();
        if let Err(failure) = connection.run(&optional) {
            // Not every PostgreSQL-compatible server supports each of these.
            tracing::debug!(%failure, "the server does not support a setting");
            failure.unless_refusal()?;
        }
        connection.text(&setup.session())?;
        Ok(connection)
    }

    /// Prepares the statements. The tables must exist.
    pub(super) fn prepare(&mut self, setup: &Setup) -> Result<(), Failure> {
        let client = &self.client;
        let prepared: Vec<BoxedFuture<'_, Statement>> = setup
            .texts
            .all()
            .map(|text| Box::pin(client.prepare(text)) as BoxedFuture<'_, Statement>)
            .collect();
        self.statements = self.io.run(self.timeout, InOrder::new(prepared))?;
        Ok(())
    }

    /// Runs the statement that is a whole commit. Returns `None` if the server does not support it.
    pub(super) fn commit_in_one_statement(
        &mut self,
        text: impl FnOnce() -> String,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Vec<Row>>, Failure> {
        if let OptionalStatement::NotTried = self.single_commit {
            let prepared = self.prepare_one(&text());
            self.single_commit = OptionalStatement::of(prepared, "commits of one statement")?;
        }
        let Some(statement) = self.single_commit.statement() else {
            return Ok(None);
        };
        let rows = self.client.query(statement, values);
        self.io.run(self.timeout, rows).map(Some)
    }

    /// Prepares an additional statement.
    pub(super) fn prepare_one(&mut self, text: &str) -> Result<Statement, Failure> {
        self.io.run(self.timeout, self.client.prepare(text))
    }

    /// Waits for the future that `act` makes of the client.
    pub(super) fn wait<'c, T, F: Future<Output = Result<T, Error>>>(
        &'c mut self,
        act: impl FnOnce(&'c Client) -> F,
    ) -> Result<T, Failure> {
        self.io.run(self.timeout, act(&self.client))
    }

    /// Runs statements given as text.
    pub(super) fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.run(&[Step::Text(text)]).map(drop)
    }

    /// Runs one prepared statement and returns its rows.
    pub(super) fn query(
        &mut self,
        query: Query,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        let rows = self.client.query(&self.statements[query as usize], values);
        self.io.run(self.timeout, rows)
    }

    /// Runs one statement given as text and returns its rows, each column as text.
    pub(super) fn read(&mut self, text: &str) -> Result<Vec<Vec<String>>, Failure> {
        use tokio_postgres::SimpleQueryMessage::Row;
        let messages = self.io.run(self.timeout, self.client.simple_query(text))?;
        let rows = messages.into_iter().filter_map(|message| match message {
            Row(row) => Some(
                (0..row.len())
                    .map(|column| row.get(column).unwrap_or_default().to_owned())
                    .collect(),
            ),
            _ => None,
        });
        Ok(rows.collect())
    }

    /// Sends all steps in one pipeline and waits for all responses. Returns the first failure, if any.
    pub(super) fn run(&mut self, steps: &[Step<'_>]) -> Result<Vec<Vec<Row>>, Failure> {
        let (client, statements) = (&self.client, &self.statements);
        let answers = steps.iter().map(|step| match step {
            Step::Text(text) => Box::pin(async {
                client.batch_execute(text).await?;
                Ok(Vec::new())
            }) as BoxedFuture<'_, Vec<Row>>,
            Step::Query(query, values) => {
                Box::pin(client.query(&statements[*query as usize], values))
            }
        });
        let answers = InOrder::new(answers.collect());
        self.io.run(self.timeout, answers)
    }

    /// Sends statements given as text and does not wait for the response.
    pub(super) fn post(&mut self, text: &str) {
        self.io.post(self.client.batch_execute(text));
    }

    /// Waits for a notification of the server, at most `timeout`.
    pub(super) fn wait_notified(&mut self, timeout: Duration) -> Result<(), Failure> {
        self.io.wait_notified(timeout)
    }

    /// Returns whether the connection is still usable.
    pub(super) fn is_open(&self) -> bool {
        self.io.link.is_some() && !self.client.is_closed()
    }
}

impl Io {
    fn run<T>(
        &mut self,
        timeout: Duration,
        answer: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Failure> {
        let Some(runtime) = self.runtime.take() else {
            return Err(Failure::Io(std::io::ErrorKind::NotConnected.into()));
        };
        let mut answer = pin!(answer);
        let answered = wait(&runtime, async {
            let step = std::future::poll_fn(|context| {
                if let Poll::Ready(answer) = answer.as_mut().poll(context) {
                    return Poll::Ready(answer);
                }
                self.drive(context);
                answer.as_mut().poll(context)
            });
            tokio::time::timeout(timeout, step).await
        });
        self.runtime = Some(runtime);
        match answered {
            Ok(answer) => answer.map_err(Failure::Database),
            Err(_) => {
                // A late response would be taken for the response to a later request.
                self.link = None;
                Err(Failure::Timeout(timeout))
            }
        }
    }

    fn post<T>(&mut self, answer: impl Future<Output = Result<T, Error>>) {
        let Some(runtime) = self.runtime.take() else {
            return;
        };
        let mut answer = pin!(answer);
        wait(
            &runtime,
            std::future::poll_fn(|context| {
                let _ = answer.as_mut().poll(context);
                self.drive(context);
                Poll::Ready(())
            }),
        );
        self.runtime = Some(runtime);
    }

    fn wait_notified(&mut self, timeout: Duration) -> Result<(), Failure> {
        let Some(runtime) = self.runtime.take() else {
            return Err(Failure::Io(std::io::ErrorKind::NotConnected.into()));
        };
        let waited = wait(&runtime, async {
            let step = std::future::poll_fn(|context| {
                self.drive(context);
                if self.notified || self.link.is_none() {
                    return Poll::Ready(());
                }
                Poll::Pending
            });
            tokio::time::timeout(timeout, step).await
        });
        drop(waited);
        self.runtime = Some(runtime);
        self.notified = false;
        if self.link.is_none() {
            return Err(Failure::Io(std::io::ErrorKind::ConnectionReset.into()));
        }
        Ok(())
    }

    /// Reads and writes the socket until it would block.
    fn drive(&mut self, context: &mut Context<'_>) {
        while let Some(link) = &mut self.link {
            match link(context) {
                Poll::Pending => return,
                Poll::Ready(Some(Ok(AsyncMessage::Notification(_)))) => self.notified = true,
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(error))) => {
                    tracing::debug!(%error, "a connection broke");
                    self.link = None;
                }
                Poll::Ready(None) => self.link = None,
            }
        }
    }
}

impl Drop for Io {
    fn drop(&mut self) {
        // Dropping a runtime may block, which panics within asynchronous code.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

type BoxedFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + 'a>>;

/// Polls futures in order, so that they send in order. Ready when all are.
struct InOrder<'a, T> {
    pending: Vec<Option<BoxedFuture<'a, T>>>,
    answers: Vec<Option<T>>,
    failure: Option<Error>,
}

impl<'a, T> InOrder<'a, T> {
    fn new(pending: Vec<BoxedFuture<'a, T>>) -> Self {
        Self {
            answers: pending.iter().map(|_| None).collect(),
            pending: pending.into_iter().map(Some).collect(),
            failure: None,
        }
    }
}

impl<T> Unpin for InOrder<'_, T> {}

impl<T> Future for InOrder<'_, T> {
    type Output = Result<Vec<T>, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let mut is_done = true;
        for (slot, answer) in this.pending.iter_mut().zip(&mut this.answers) {
            let Some(pending) = slot else { continue };
            match pending.as_mut().poll(context) {
                Poll::Pending => is_done = false,
                Poll::Ready(result) => {
                    *slot = None;
                    match result {
                        Ok(value) => *answer = Some(value),
                        Err(error) => drop(this.failure.get_or_insert(error)),
                    }
                }
            }
        }
        match this.failure.take() {
            Some(failure) if is_done => Poll::Ready(Err(failure)),
            failure if !is_done => {
                this.failure = failure;
                Poll::Pending
            }
            _ => Poll::Ready(Ok(this.answers.drain(..).flatten().collect())),
        }
    }
}
