//! MongoDB without Espalier: a collection of keys and values, a bulk command for each run of operations.

use std::fmt::Write;

use ::mongodb::bson::spec::BinarySubtype;
use ::mongodb::bson::{Binary, Bson, Document, doc};
use ::mongodb::error::Error;
use ::mongodb::{Client, Collection, Database};
use espalier_keyspace::{Direction, KeyRange, Operation};
use tokio::runtime::Runtime;

use super::client::RawEngine;
use super::contents::Contents;
use super::operation_runs::{Run, runs};
use super::remote::{Remote, replay};
use crate::engine::Durability;
use crate::recorder::{ReadStep, Trace};
use espalier_terminal::{Failure, Result};

/// The number of documents per command of a load.
const LOADED_AT_ONCE: usize = 1000;

/// A separate collection.
pub struct Mongo {
    runtime: Runtime,
    database: Database,
    name: String,
    concern: Document,
}

impl Mongo {
    /// Connects, with an empty collection of a name.
    pub fn create(url: &str, name: &str, durability: Durability) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let url = url.split('?').next().unwrap_or(url);
        let client = runtime
            .block_on(Client::with_uri_str(url))
            .map_err(failed)?;
        let database = client.default_database();
        let no_database = || Failure::usage(format!("raw MongoDB: {url} names no database"));
        Ok(Self {
            database: database.ok_or_else(no_database)?,
            runtime,
            name: name.to_owned(),
            concern: match durability {
                Durability::Durable => doc! { "w": "majority", "j": true },
                _ => doc! { "w": 1 },
            },
        })
    }

    fn collection(&self) -> Collection<Document> {
        self.database.collection(&self.name)
    }

    async fn run(&self, mut command: Document) -> std::result::Result<(), Error> {
        command.insert("writeConcern", self.concern.clone());
        self.database.run_command(command).await.map(drop)
    }

    async fn put(&self, pairs: &[(&[u8], &[u8])]) -> std::result::Result<(), Error> {
        let updates = pairs.iter().map(|(key, value)| {
            doc! { "q": { "_id": id(key) }, "u": { "v": binary(value) }, "upsert": true }
        });
        let updates: Vec<_> = updates.collect();
        self.run(doc! { "update": &self.name, "updates": updates })
            .await
    }

    async fn delete(&self, filter: Document) -> std::result::Result<(), Error> {
        let deletes = [doc! { "q": { "_id": filter }, "limit": 0 }];
        self.run(doc! { "delete": &self.name, "deletes": deletes.to_vec() })
            .await
    }
}

/// The condition on `_id` for the keys of a range.
fn within(range: &KeyRange) -> Document {
    let mut within = doc! { "$gte": id(&range.start) };
    if let Some(end) = &range.end {
        within.insert("$lt", id(end));
    }
    within
}

/// The `_id` of a key, as text in the order of keys: MongoDB sorts binary values by length first.
fn id(key: &[u8]) -> String {
    let mut id = String::with_capacity(2 * key.len());
    for byte in key {
        // Writing to a string cannot fail.
        let _ = write!(id, "{byte:02x}");
    }
    id
}

fn binary(value: &[u8]) -> Binary {
    Binary {
        subtype: BinarySubtype::Generic,
        bytes: value.to_vec(),
    }
}

impl Remote for Mongo {
    type Error = Error;

    async fn read(&self, step: &ReadStep) -> std::result::Result<usize, Error> {
        let (filter, order, count) = match step {
            ReadStep::Get(key) => (doc! { "_id": id(key) }, 1, 1),
            ReadStep::GetMany(keys) => {
                let ids: Vec<_> = keys.iter().map(|key| Bson::String(id(key))).collect();
                (doc! { "_id": { "$in": ids } }, 1, keys.len())
            }
            ReadStep::Scan(range, direction, count) => {
                let order = match direction {
                    Direction::Forward => 1,
                    Direction::Backward => -1,
                };
                (doc! { "_id": within(range) }, order, *count)
            }
        };
        let collection = self.collection();
        let find = collection.find(filter).sort(doc! { "_id": order });
        let mut found = find.limit(i64::try_from(count).unwrap_or(i64::MAX)).await?;
        let mut bytes = 0;
        while found.advance().await? {
            bytes += found.current().as_bytes().len();
        }
        Ok(bytes)
    }

    async fn commit(&self, operations: &[Operation]) -> std::result::Result<(), Error> {
        for run in runs(operations) {
            match run {
                Run::Puts(pairs) => self.put(&pairs).await?,
                Run::Deletes(keys) => {
                    let ids: Vec<_> = keys.iter().map(|key| Bson::String(id(key))).collect();
                    self.delete(doc! { "$in": ids }).await?;
                }
                Run::DeleteRange(range) => {
                    self.delete(within(range)).await?;
                }
                Run::Add(key, delta) => {
                    let update = doc! { "q": { "_id": id(key) }, "u": { "$inc": { "n": delta } }, "upsert": true };
                    self.run(doc! { "update": &self.name, "updates": [update] })
                        .await?;
                }
            }
        }
        Ok(())
    }
}

impl RawEngine for Mongo {
    fn load(&self, contents: &Contents) -> Result<()> {
        let pairs: Vec<_> = contents.iter().collect();
        let loaded = self.runtime.block_on(async {
            for some in pairs.chunks(LOADED_AT_ONCE) {
                let documents = some.iter().map(|(key, value)| {
                    doc! { "_id": id(key), "v": binary(value) }
                });
                self.collection().insert_many(documents).await?;
            }
            Ok(())
        });
        loaded.map_err(failed)
    }

    fn replay(&self, trace: &Trace) -> Result<usize> {
        let done = self.runtime.block_on(replay(self, trace));
        done.map_err(failed)
    }
}

impl Drop for Mongo {
    fn drop(&mut self) {
        // Anything left over has a unique name and disturbs nothing.
        drop(
            self.runtime
                .block_on(self.collection().drop().into_future()),
        );
    }
}

fn failed(error: Error) -> Failure {
    Failure::data(format!("raw MongoDB: {error}"))
}
