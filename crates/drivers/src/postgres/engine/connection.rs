//! One connection to the server. Whoever calls drives it, in its own thread, with a small runtime
//! that belongs to the connection: no other thread has to wake up for an answer.

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

/// A thing to do, in a pipeline.
pub(super) enum Step<'a> {
    /// Statements in a text, whose rows do not matter.
    Text(&'a str),
    /// A prepared statement and its values.
    Query(Query, Vec<&'a (dyn ToSql + Sync)>),
}

/// An open connection.
pub(in crate::postgres) struct Connection {
    client: Client,
    io: Io,
    statements: Vec<Statement>,
    at_once: Optional,
    pub(super) copy: Optional,
    pub(super) schema: String,
    patience: Duration,
}

/// A statement that not every server of the family takes.
pub(super) enum Optional {
    Untried,
    Refused,
    Prepared(Statement),
}

impl Optional {
    /// What came of preparing it; a failure where the server does not go on.
    pub(super) fn of(prepared: Result<Statement, Failure>, what: &str) -> Result<Self, Failure> {
        match prepared {
            Ok(statement) => Ok(Self::Prepared(statement)),
            Err(failure) => {
                tracing::info!(%failure, "the server takes no {what}");
                failure.still_open()?;
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

/// What moves the bytes.
struct Io {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    /// `None` when the connection has ended: dropping it ends those who wait for answers.
    link: Option<Link>,
    notified: bool,
}

type Link = Box<dyn FnMut(&mut Context<'_>) -> Poll<Option<Result<AsyncMessage, Error>>> + Send>;

/// Waits for a future. A caller within an asynchronous task of a runtime of several threads waits too,
/// and the others go on; it should rather have another thread do it.
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
        let runtime = runtime.map_err(Failure::Local)?;
        let connector = Connector::new(&setup.config).map_err(Failure::Secured)?;
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
                return Err(Failure::Silent(setup.connect_timeout()));
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
            at_once: Optional::Untried,
            copy: Optional::Untried,
            schema: setup.config.schema.clone(),
            patience: setup.answer_timeout(),
        };
        let optional: Vec<_> = setup.session_optional().map(Step::Text).collect();
        if let Err(failure) = connection.run(&optional) {
            // Not every server of the family knows each of these.
            tracing::debug!(%failure, "the server does not take a setting");
            failure.still_open()?;
        }
        connection.text(&setup.session())?;
        Ok(connection)
    }

    /// Prepares the statements, which needs the tables.
    pub(super) fn prepare(&mut self, setup: &Setup) -> Result<(), Failure> {
        let client = &self.client;
        let prepared: Vec<Pending<'_, Statement>> = setup
            .texts
            .all()
            .map(|text| Box::pin(client.prepare(text)) as Pending<'_, Statement>)
            .collect();
        self.statements = self.io.run(self.patience, InOrder::new(prepared))?;
        Ok(())
    }

    /// The rows of the statement that is a whole commit; `None` where the server does not take it.
    pub(super) fn commit_at_once(
        &mut self,
        text: impl FnOnce() -> String,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Vec<Row>>, Failure> {
        if let Optional::Untried = self.at_once {
            let prepared = self.prepare_one(&text());
            self.at_once = Optional::of(prepared, "commits of one statement")?;
        }
        let Some(statement) = self.at_once.statement() else {
            return Ok(None);
        };
        let rows = self.client.query(statement, values);
        self.io.run(self.patience, rows).map(Some)
    }

    /// Prepares one more statement.
    pub(super) fn prepare_one(&mut self, text: &str) -> Result<Statement, Failure> {
        self.io.run(self.patience, self.client.prepare(text))
    }

    /// Waits for what is done with the client.
    pub(super) fn wait<'c, T, F: Future<Output = Result<T, Error>>>(
        &'c mut self,
        act: impl FnOnce(&'c Client) -> F,
    ) -> Result<T, Failure> {
        self.io.run(self.patience, act(&self.client))
    }

    /// Runs a text of statements.
    pub(super) fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.run(&[Step::Text(text)]).map(drop)
    }

    /// The rows of one prepared statement.
    pub(super) fn query(
        &mut self,
        query: Query,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        let rows = self.client.query(&self.statements[query as usize], values);
        self.io.run(self.patience, rows)
    }

    /// The rows of a text that stands for one statement, each column as text.
    pub(super) fn read(&mut self, text: &str) -> Result<Vec<Vec<String>>, Failure> {
        use tokio_postgres::SimpleQueryMessage::Row;
        let messages = self.io.run(self.patience, self.client.simple_query(text))?;
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

    /// Sends all steps at once, and waits for the answers. When one fails, the first failure is
    /// returned, after all have been answered.
    pub(super) fn run(&mut self, steps: &[Step<'_>]) -> Result<Vec<Vec<Row>>, Failure> {
        let (client, statements) = (&self.client, &self.statements);
        let answers = steps.iter().map(|step| match step {
            Step::Text(text) => Box::pin(async {
                client.batch_execute(text).await?;
                Ok(Vec::new())
            }) as Pending<'_, Vec<Row>>,
            Step::Query(query, values) => {
                Box::pin(client.query(&statements[*query as usize], values))
            }
        });
        let answers = InOrder::new(answers.collect());
        self.io.run(self.patience, answers)
    }

    /// Sends a text and does not wait for the answer.
    pub(super) fn post(&mut self, text: &str) {
        self.io.post(self.client.batch_execute(text));
    }

    /// Waits until the server notifies, at most `timeout`.
    pub(super) fn wait_notified(&mut self, timeout: Duration) -> Result<(), Failure> {
        self.io.wait_notified(timeout)
    }

    /// Whether it can be used once more.
    pub(super) fn is_open(&self) -> bool {
        self.io.link.is_some() && !self.client.is_closed()
    }
}

impl Io {
    fn run<T>(
        &mut self,
        patience: Duration,
        answer: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Failure> {
        let Some(runtime) = self.runtime.take() else {
            return Err(Failure::Local(std::io::ErrorKind::NotConnected.into()));
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
            tokio::time::timeout(patience, step).await
        });
        self.runtime = Some(runtime);
        match answered {
            Ok(answer) => answer.map_err(Failure::Database),
            Err(_) => {
                // What comes later would be taken for the answer to something else.
                self.link = None;
                Err(Failure::Silent(patience))
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
            return Err(Failure::Local(std::io::ErrorKind::NotConnected.into()));
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
            return Err(Failure::Local(std::io::ErrorKind::ConnectionReset.into()));
        }
        Ok(())
    }

    /// Moves bytes as long as there are some.
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
        // Dropping it could block, which is not allowed everywhere.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + 'a>>;

/// Futures that are asked in order, so that what they send is sent in order; done when all are.
struct InOrder<'a, T> {
    pending: Vec<Option<Pending<'a, T>>>,
    answers: Vec<Option<T>>,
    failure: Option<Error>,
}

impl<'a, T> InOrder<'a, T> {
    fn new(pending: Vec<Pending<'a, T>>) -> Self {
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
                        Ok(told) => *answer = Some(told),
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
