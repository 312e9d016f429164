//! The server, and the few commands that it is sent.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use espalier_keyspace::{Error, ErrorKind, Result};
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::{CollectionOptions, FindOptions, Hint, ReadConcern};
use mongodb::{Collection, Database};
use tokio::runtime::Runtime;
use tokio::spawn;

use super::asking::{Answer, Asking, Inserting};
use super::client::{Watched, client};
use super::error::Trouble;
use crate::durability::Durability;
use crate::mongo::config::Config;
use crate::tls_probe::{ProbeOptions, Protocol, TlsProbe};

/// The oldest wire protocol that is spoken: that of MongoDB 5.0.
const WIRE_VERSION_MIN: i32 = 13;

/// How a server is asked whether it speaks TLS: `{hello: 1, $db: "admin"}` as an `OP_MSG`.
const PROBE_OPTIONS: ProbeOptions = ProbeOptions {
    plain_request: b"\x34\0\0\0\x01\0\0\0\0\0\0\0\xdd\x07\0\0\0\0\0\0\0\
                \x1f\0\0\0\x10hello\0\x01\0\0\0\x02$db\0\x06\0\0\0admin\0\0",
    advice_without_tls: "leave tls, ca, cert and key out",
    advice_with_tls: "add tls&ca=FILE to the URL",
};

/// How sure a write has to be before it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mongo) enum Sure {
    /// It does no harm where it is lost.
    Soon,
    /// As the URL asks for.
    AsAsked,
    /// A later write, which may survive a server that this one does not, counts on it.
    Always,
}

/// What became of documents that were to be inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mongo) enum Inserted {
    All,
    /// Perhaps by an earlier attempt of the same request.
    SomeWereThere,
}

/// What is read.
pub(in crate::mongo) struct Query {
    pub(in crate::mongo) filter: Document,
    /// By `_id`: 1 or -1, or 0 for any order.
    pub(in crate::mongo) order: i32,
    /// 0: all.
    pub(in crate::mongo) limit: usize,
    /// The fields; all where it is empty.
    pub(in crate::mongo) fields: Document,
    /// The index that is to be used.
    pub(in crate::mongo) index: Option<&'static str>,
    /// What was acknowledged a moment ago need not be found. Otherwise, a primary asks a majority whether
    /// it is that still, which takes as long as a commit: one that has just become primary does not know at
    /// once that a majority has what it has, and one that is not it any more may not know that.
    pub(in crate::mongo) may_be_late: bool,
}

impl Query {
    /// The document with an `_id`.
    pub(in crate::mongo) fn of_id(id: &str) -> Self {
        Self {
            filter: doc! { "_id": id },
            order: 1,
            limit: 1,
            fields: Document::new(),
            index: None,
            may_be_late: false,
        }
    }

    /// The first documents in the order of their `_id`s, or the last.
    pub(in crate::mongo) fn new(filter: Document, order: i32, limit: usize) -> Self {
        Self {
            filter,
            order,
            limit,
            fields: Document::new(),
            index: None,
            may_be_late: false,
        }
    }

    /// The same, where what was acknowledged a moment ago need not be found.
    pub(in crate::mongo) fn perhaps_late(self) -> Self {
        Self {
            may_be_late: true,
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

/// A question that is ready to be sent.
#[derive(Clone)]
struct Find {
    collection: Collection<Document>,
    filter: Document,
    options: FindOptions,
}

impl Find {
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

async fn find_at_once(finds: Vec<Find>) -> mongodb::error::Result<Vec<Vec<Document>>> {
    let asked: Vec<_> = finds.into_iter().map(|find| spawn(find.run())).collect();
    let mut found = Vec::with_capacity(asked.len());
    for answer in asked {
        found.push(answer.await.map_err(mongodb::error::Error::custom)??);
    }
    Ok(found)
}

/// A database, and the runtime that speaks with its server.
pub(in crate::mongo) struct Server {
    runtime: Option<Runtime>,
    database: Database,
    prefix: String,
    pub(in crate::mongo) place: String,
    pub(in crate::mongo) timeout: Duration,
    durability: Durability,
    /// There are several members, any of which may be the next primary.
    pub(in crate::mongo) is_replicated: bool,
    /// What the client tells of its connections.
    pub(super) watched: Arc<Watched>,
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
        let place = config.servers.shown();
        let watched = Arc::default();
        let client = {
            let _runtime = runtime.enter();
            client(config, &watched)?
        };
        let mut server = Self {
            runtime: Some(runtime),
            database: client.database(&config.database),
            prefix: config.prefix.clone(),
            place,
            timeout: config.timeout,
            durability: config.durability,
            is_replicated: false,
            watched,
            tls_probe: TlsProbe::new(
                &config.servers,
                Protocol::of_options(config.tls.as_ref()),
                PROBE_OPTIONS,
            ),
        };
        server.greet()?;
        Ok(server)
    }

    /// Asks the server what it is.
    fn greet(&mut self) -> Result<()> {
        let hello = self.command(doc! { "hello": 1 }, 0)?;
        if hello.get_i32("maxWireVersion").unwrap_or_default() < WIRE_VERSION_MIN {
            let place = &self.place;
            let message =
                format!("the server at {place} is too old; it has to be MongoDB 5.0 or later");
            return Err(Error::new(ErrorKind::WrongVersion, message));
        }
        let is_sharded = hello.get_str("msg").is_ok_and(|msg| msg == "isdbgrid");
        self.is_replicated = is_sharded || hello.contains_key("setName");
        Ok(())
    }

    /// Whether commits wait for a majority of members.
    pub(in crate::mongo) fn has_majority(&self) -> bool {
        self.is_replicated && self.durability == Durability::Durable
    }

    fn collection(&self, name: &str, may_be_late: bool) -> Collection<Document> {
        let concern = match may_be_late {
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

    /// Reads.
    pub(in crate::mongo) fn find(&self, name: &str, query: Query) -> Result<Vec<Document>> {
        let found = self.find_all(vec![(name, query)])?;
        Ok(found.into_iter().flatten().collect())
    }

    /// The same for several questions, which are sent at once.
    pub(in crate::mongo) fn find_all(
        &self,
        queries: Vec<(&str, Query)>,
    ) -> Result<Vec<Vec<Document>>> {
        let count = queries.iter().map(|(_, query)| query.limit).sum();
        let finds = queries.into_iter().map(|(name, query)| Find {
            collection: self.collection(name, query.may_be_late),
            options: query.options(),
            filter: query.filter,
        });
        let finds: Vec<_> = finds.collect();
        Asking::begin(self, count, || Box::pin(find_at_once(finds.clone())))
            .answer()
            .map(|answer| answer.said)
            .map_err(|trouble| trouble.error)
    }

    /// The document with an `_id`.
    pub(in crate::mongo) fn get(&self, name: &str, id: &str) -> Result<Option<Document>> {
        Ok(self.find(name, Query::of_id(id))?.pop())
    }

    /// Inserts documents, those whose `_id`s are not there yet.
    pub(in crate::mongo) fn insert(
        &self,
        name: &str,
        documents: Vec<Document>,
        sure: Sure,
    ) -> std::result::Result<Inserted, Trouble> {
        self.begin_insert(name, documents, sure).done()
    }

    /// The same, without waiting for it.
    pub(in crate::mongo) fn begin_insert(
        &self,
        name: &str,
        documents: Vec<Document>,
        sure: Sure,
    ) -> Inserting<'_> {
        let count = documents.len();
        let documents: Vec<_> = documents.into_iter().map(Bson::Document).collect();
        let command = doc! { "insert": self.full_name(name), "documents": documents };
        Inserting(self.begin_write(command, count, sure))
    }

    /// Changes documents: each update is `q`, `u` and perhaps `multi`. `count` is about how many
    /// documents they are about.
    pub(in crate::mongo) fn update(
        &self,
        name: &str,
        updates: Vec<Document>,
        count: usize,
        sure: Sure,
    ) -> std::result::Result<(), Trouble> {
        if updates.is_empty() {
            return Ok(());
        }
        let updates: Vec<_> = updates.into_iter().map(Bson::Document).collect();
        let command = doc! { "update": self.full_name(name), "updates": updates };
        self.write(command, count, sure).map(drop)
    }

    /// Deletes what filters find.
    pub(in crate::mongo) fn delete(
        &self,
        name: &str,
        filters: Vec<Document>,
        count: usize,
        sure: Sure,
    ) -> std::result::Result<(), Trouble> {
        if filters.is_empty() {
            return Ok(());
        }
        let delete = |filter| Bson::Document(doc! { "q": filter, "limit": 0 });
        let deletes: Vec<_> = filters.into_iter().map(delete).collect();
        let command = doc! { "delete": self.full_name(name), "deletes": deletes };
        self.write(command, count, sure).map(drop)
    }

    /// Has a command write `count` documents or so.
    fn write(
        &self,
        command: Document,
        count: usize,
        sure: Sure,
    ) -> std::result::Result<Document, Trouble> {
        self.written(self.begin_write(command, count, sure).answer()?)
    }

    fn begin_write(&self, mut command: Document, count: usize, sure: Sure) -> Asking<'_, Document> {
        command.insert("ordered", false);
        command.insert("writeConcern", self.concern(sure));
        self.begin(command, count)
    }

    /// What a command that writes has done.
    pub(super) fn written(
        &self,
        Answer { said, is_repeated }: Answer<Document>,
    ) -> std::result::Result<Document, Trouble> {
        match Trouble::of_answer(&self.place, &said) {
            Some(mut trouble) => {
                trouble.may_be_done |= is_repeated;
                Err(trouble)
            }
            None => Ok(said),
        }
    }

    fn concern(&self, sure: Sure) -> Document {
        let is_durable = match sure {
            Sure::Soon => false,
            Sure::AsAsked => self.durability == Durability::Durable,
            Sure::Always => true,
        };
        match is_durable {
            true => doc! { "w": "majority", "j": true },
            false => doc! { "w": 1 },
        }
    }

    /// Has the server make everything durable that was written.
    pub(in crate::mongo) fn flush(&self) -> Result<()> {
        let name = self.full_name("state");
        let update = doc! { "q": { "_id": "flush" }, "u": { "$inc": { "n": 1 } }, "upsert": true };
        let command = doc! {
            "update": name,
            "updates": [update],
            "writeConcern": { "w": "majority", "j": true },
        };
        let answer = self.command(command, 1)?;
        match Trouble::of_answer(&self.place, &answer) {
            Some(trouble) => Err(trouble.error),
            None => Ok(()),
        }
    }

    /// Makes an index where there is none.
    pub(in crate::mongo) fn make_index(
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
        let answer = self.begin(command, count).answer();
        answer
            .map(|answer| answer.said)
            .map_err(|trouble| trouble.error)
    }

    /// Sends a command that may be carried out several times.
    fn begin(&self, command: Document, count: usize) -> Asking<'_, Document> {
        Asking::begin(self, count, move || {
            let (database, command) = (self.database.clone(), command.clone());
            Box::pin(async move { database.run_command(command).await })
        })
    }

    pub(super) fn runtime(&self) -> Option<&Runtime> {
        self.runtime.as_ref()
    }

    /// A request failed: perhaps it is not the same server any more.
    pub(super) fn interrupted(&self) {
        self.watched.interruptions.fetch_add(1, Ordering::AcqRel);
    }

    /// How often connections were lost so far.
    pub(super) fn interruptions(&self) -> u64 {
        self.watched.interruptions.load(Ordering::Acquire)
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
