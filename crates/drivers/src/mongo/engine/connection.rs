//! The server, and the commands that the driver sends.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use espalier_keyspace::{Error, ErrorKind, Result};
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::{CollectionOptions, FindOptions, Hint, ReadConcern};
use mongodb::{Collection, Database};
use tokio::runtime::Runtime;
use tokio::spawn;

use super::client::{ConnectionHealth, client};
use super::error::RequestFailure;
use super::request::{PendingInsert, PendingRequest, Reply};
use crate::durability::Durability;
use crate::mongo::config::Config;
use crate::tls_probe::{ProbeOptions, Protocol, TlsProbe};

/// The oldest supported wire protocol: that of MongoDB 5.0.
const WIRE_VERSION_MIN: i32 = 13;

/// How to detect whether a server uses TLS: a plain one responds to `{hello: 1, $db: "admin"}` as an `OP_MSG`.
const PROBE_OPTIONS: ProbeOptions = ProbeOptions {
    plain_request: b"\x34\0\0\0\x01\0\0\0\0\0\0\0\xdd\x07\0\0\0\0\0\0\0\
                \x1f\0\0\0\x10hello\0\x01\0\0\0\x02$db\0\x06\0\0\0admin\0\0",
    advice_without_tls: "leave tls, ca, cert and key out",
    advice_with_tls: "add tls&ca=FILE to the URL",
};

/// How safe a write has to be before it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mongo) enum WriteConcern {
    /// On one server: a loss does no harm.
    One,
    /// As the option `durability` requires.
    Configured,
    /// Journaled on a majority: a later write that depends on this one may survive a failover.
    Majority,
}

/// The result of an insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mongo) enum Inserted {
    All,
    /// Some `_id`s existed already, perhaps from an earlier attempt of the same request.
    SomeExisted,
}

/// A query of a collection.
pub(in crate::mongo) struct Query {
    pub(in crate::mongo) filter: Document,
    /// By `_id`: 1 or -1, or 0 for any order.
    pub(in crate::mongo) order: i32,
    /// 0 for no limit.
    pub(in crate::mongo) limit: usize,
    /// The projection; all fields if empty.
    pub(in crate::mongo) fields: Document,
    /// The index to use (a hint).
    pub(in crate::mongo) index: Option<&'static str>,
    /// Whether the result may lack recently acknowledged writes. Otherwise the read is linearizable, which
    /// takes as long as a commit: the primary confirms with a majority that it still is one. A new primary
    /// does not know at once which of its data is on a majority, and an old one may not know yet that it was replaced.
    pub(in crate::mongo) may_be_stale: bool,
}

impl Query {
    /// The document with an `_id`.
    pub(in crate::mongo) fn of_id(id: &str) -> Self {
        Self::new(doc! { "_id": id }, 1, 1)
    }

    /// The first documents in the order of their `_id`s, or the last.
    pub(in crate::mongo) fn new(filter: Document, order: i32, limit: usize) -> Self {
        Self {
            filter,
            order,
            limit,
            fields: Document::new(),
            index: None,
            may_be_stale: false,
        }
    }

    /// The same, but the result may lack recently acknowledged writes.
    pub(in crate::mongo) fn allow_stale(self) -> Self {
        Self {
            may_be_stale: true,
            ..self
        }
    }

    fn options(&self) -> FindOptions {
        let limit = i64::try_from(self.limit).unwrap_or(i64::MAX);
        let batch = u32::try_from(self.limit).ok().filter(|limit| *limit > 1);
        let fields = (!self.fields.is_empty()).then(|| self.fields.clone());
        FindOptions::builder()
            .sort((self.order != 0).then(|| doc! { "_id": self.order }))
            .hint(self.index.map(|index| Hint::Name(index.to_owned())))
            .limit(limit)
            .batch_size(batch)
            .projection(fields)
            .build()
    }
}

/// A `find` command.
#[derive(Clone)]
struct FindRequest {
    collection: Collection<Document>,
    filter: Document,
    options: FindOptions,
}

impl FindRequest {
    async fn run(self) -> mongodb::error::Result<Vec<Document>> {
        let find = self.collection.find(self.filter);
        let mut cursor = find.with_options(self.options).await?;
        let mut found = Vec::new();
        while cursor.advance().await? {
            found.push(cursor.deserialize_current()?);
        }
        Ok(found)
    }
}

async fn find_concurrently(finds: Vec<FindRequest>) -> mongodb::error::Result<Vec<Vec<Document>>> {
    let tasks: Vec<_> = finds.into_iter().map(|find| spawn(find.run())).collect();
    let mut found = Vec::with_capacity(tasks.len());
    for task in tasks {
        found.push(task.await.map_err(mongodb::error::Error::custom)??);
    }
    Ok(found)
}

/// A database, and the runtime of the connections to its server.
pub(in crate::mongo) struct Server {
    runtime: Option<Runtime>,
    database: Database,
    prefix: String,
    pub(in crate::mongo) address: String,
    pub(in crate::mongo) timeout: Duration,
    durability: Durability,
    /// Whether it is a replica set or a sharded cluster, so that the primary may change.
    pub(in crate::mongo) is_replicated: bool,
    /// The state of the connections, from the client's events.
    pub(super) health: Arc<ConnectionHealth>,
    pub(super) tls_probe: TlsProbe,
}

impl Server {
    /// Connects.
    pub(in crate::mongo) fn open(config: &Config) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("mongodb")
            .enable_all()
            .build()
            .map_err(|error| {
                Error::new(ErrorKind::Engine, "cannot start a thread").with_source(error)
            })?;
        let address = config.servers.shown();
        let health = Arc::default();
        let client = {
            let _runtime = runtime.enter();
            client(config, &health)?
        };
        let mut server = Self {
            runtime: Some(runtime),
            database: client.database(&config.database),
            prefix: config.prefix.clone(),
            address,
            timeout: config.timeout,
            durability: config.durability,
            is_replicated: false,
            health,
            tls_probe: TlsProbe::new(
                &config.servers,
                Protocol::of_options(config.tls.as_ref()),
                PROBE_OPTIONS,
            ),
        };
        server.check_version()?;
        Ok(server)
    }

    /// Checks the version of the server, and finds out whether it is replicated.
    fn check_version(&mut self) -> Result<()> {
        let hello = self.command(doc! { "hello": 1 }, 0)?;
        if hello.get_i32("maxWireVersion").unwrap_or_default() < WIRE_VERSION_MIN {
            let address = &self.address;
            let message = format!(
                "the server at {address} is too old; the oldest supported version is MongoDB 5.0"
            );
            return Err(Error::new(ErrorKind::WrongVersion, message));
        }
        let is_sharded = hello.get_str("msg").is_ok_and(|msg| msg == "isdbgrid");
        self.is_replicated = is_sharded || hello.contains_key("setName");
        Ok(())
    }

    /// Whether commits wait for a majority of the members.
    pub(in crate::mongo) fn has_majority(&self) -> bool {
        self.is_replicated && self.durability == Durability::Durable
    }

    fn collection(&self, name: &str, may_be_stale: bool) -> Collection<Document> {
        let concern = match may_be_stale {
            true => ReadConcern::majority(),
            false => ReadConcern::linearizable(),
        };
        let concern = self.has_majority().then_some(concern);
        let options = CollectionOptions::builder().read_concern(concern).build();
        let name = self.full_name(name);
        self.database.collection_with_options(&name, options)
    }

    fn full_name(&self, name: &str) -> String {
        format!("{}.{name}", self.prefix)
    }

    /// The documents that a query finds.
    pub(in crate::mongo) fn find(&self, name: &str, query: Query) -> Result<Vec<Document>> {
        let found = self.find_all(vec![(name, query)])?;
        Ok(found.into_iter().flatten().collect())
    }

    /// The same for several queries, which are sent concurrently.
    pub(in crate::mongo) fn find_all(
        &self,
        queries: Vec<(&str, Query)>,
    ) -> Result<Vec<Vec<Document>>> {
        let count = queries.iter().map(|(_, query)| query.limit).sum();
        let finds = queries.into_iter().map(|(name, query)| FindRequest {
            collection: self.collection(name, query.may_be_stale),
            options: query.options(),
            filter: query.filter,
        });
        let finds: Vec<_> = finds.collect();
        PendingRequest::send(self, count, || Box::pin(find_concurrently(finds.clone())))
            .wait()
            .map(|reply| reply.value)
            .map_err(|failure| failure.error)
    }

    /// The document with an `_id`.
    pub(in crate::mongo) fn get(&self, name: &str, id: &str) -> Result<Option<Document>> {
        Ok(self.find(name, Query::of_id(id))?.pop())
    }

    /// Inserts the documents whose `_id`s do not exist yet.
    pub(in crate::mongo) fn insert(
        &self,
        name: &str,
        documents: Vec<Document>,
        concern: WriteConcern,
    ) -> std::result::Result<Inserted, RequestFailure> {
        self.begin_insert(name, documents, concern).wait()
    }

    /// Starts an insert, without waiting for the response.
    pub(in crate::mongo) fn begin_insert(
        &self,
        name: &str,
        documents: Vec<Document>,
        concern: WriteConcern,
    ) -> PendingInsert<'_> {
        let count = documents.len();
        let documents: Vec<_> = documents.into_iter().map(Bson::Document).collect();
        let command = doc! { "insert": self.full_name(name), "documents": documents };
        PendingInsert(self.begin_write(command, count, concern))
    }

    /// Updates documents: each update is `q`, `u` and optionally `multi`. `count` is about how many documents
    /// they change.
    pub(in crate::mongo) fn update(
        &self,
        name: &str,
        updates: Vec<Document>,
        count: usize,
        concern: WriteConcern,
    ) -> Result<()> {
        if updates.is_empty() {
            return Ok(());
        }
        let updates: Vec<_> = updates.into_iter().map(Bson::Document).collect();
        let command = doc! { "update": self.full_name(name), "updates": updates };
        self.write(command, count, concern)
    }

    /// Deletes the documents that match any of the filters, about `count`.
    pub(in crate::mongo) fn delete(
        &self,
        name: &str,
        filters: Vec<Document>,
        count: usize,
        concern: WriteConcern,
    ) -> Result<()> {
        if filters.is_empty() {
            return Ok(());
        }
        let delete = |filter| Bson::Document(doc! { "q": filter, "limit": 0 });
        let deletes: Vec<_> = filters.into_iter().map(delete).collect();
        let command = doc! { "delete": self.full_name(name), "deletes": deletes };
        self.write(command, count, concern)
    }

    /// Runs an idempotent command that writes about `count` documents. So it does not matter whether a write
    /// that failed may have been applied.
    fn write(&self, command: Document, count: usize, concern: WriteConcern) -> Result<()> {
        let reply = self.begin_write(command, count, concern).wait();
        let checked = reply.and_then(|reply| self.check_write(reply));
        checked.map(drop).map_err(|failure| failure.error)
    }

    fn begin_write(
        &self,
        mut command: Document,
        count: usize,
        concern: WriteConcern,
    ) -> PendingRequest<'_, Document> {
        command.insert("ordered", false);
        command.insert("writeConcern", self.write_concern(concern));
        self.begin(command, count)
    }

    /// The reply to a write, unless it reports errors.
    pub(super) fn check_write(
        &self,
        Reply {
            value,
            has_earlier_attempt,
        }: Reply<Document>,
    ) -> std::result::Result<Document, RequestFailure> {
        match RequestFailure::of_reply(&self.address, &value) {
            Some(mut failure) => {
                failure.may_be_applied |= has_earlier_attempt;
                Err(failure)
            }
            None => Ok(value),
        }
    }

    fn write_concern(&self, concern: WriteConcern) -> Document {
        let is_durable = match concern {
            WriteConcern::One => false,
            WriteConcern::Configured => self.durability == Durability::Durable,
            WriteConcern::Majority => true,
        };
        match is_durable {
            true => doc! { "w": "majority", "j": true },
            false => doc! { "w": 1 },
        }
    }

    /// Makes all earlier writes durable: waits for a journaled write on a majority.
    pub(in crate::mongo) fn flush(&self) -> Result<()> {
        let name = self.full_name("state");
        let update = doc! { "q": { "_id": "flush" }, "u": { "$inc": { "n": 1 } }, "upsert": true };
        let command = doc! {
            "update": name,
            "updates": [update],
            "writeConcern": { "w": "majority", "j": true },
        };
        let reply = self.command(command, 1)?;
        match RequestFailure::of_reply(&self.address, &reply) {
            Some(failure) => Err(failure.error),
            None => Ok(()),
        }
    }

    /// Creates an index if it does not exist.
    pub(in crate::mongo) fn create_index(
        &self,
        name: &str,
        index: &str,
        key: Document,
    ) -> Result<()> {
        let index = doc! { "key": key, "name": index };
        let command = doc! { "createIndexes": self.full_name(name), "indexes": [index] };
        self.command(command, 0).map(drop)
    }

    fn command(&self, command: Document, count: usize) -> Result<Document> {
        let reply = self.begin(command, count).wait();
        reply
            .map(|reply| reply.value)
            .map_err(|failure| failure.error)
    }

    /// Sends a command that may be applied more than once.
    fn begin(&self, command: Document, count: usize) -> PendingRequest<'_, Document> {
        PendingRequest::send(self, count, move || {
            let (database, command) = (self.database.clone(), command.clone());
            Box::pin(async move { database.run_command(command).await })
        })
    }

    pub(super) fn runtime(&self) -> Option<&Runtime> {
        self.runtime.as_ref()
    }

    /// Records that a request failed: the next response may come from another server.
    pub(super) fn record_interruption(&self) {
        self.health.interruptions.fetch_add(1, Ordering::AcqRel);
    }

    /// How often connections were lost.
    pub(super) fn interruptions(&self) -> u64 {
        self.health.interruptions.load(Ordering::Acquire)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A plain drop would wait, which threads of another runtime must not.
            runtime.shutdown_background();
        }
    }
}
