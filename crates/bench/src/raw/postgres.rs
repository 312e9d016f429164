//! PostgreSQL without Espalier: one table, prepared statements, arrays of parameters.

use espalier_keyspace::{Direction, Operation};
use tokio::runtime::Runtime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, NoTls, Statement};

use super::client::RawEngine;
use super::contents::Contents;
use super::operation_runs::{Run, runs};
use super::range_end::range_end;
use super::remote::{Remote, replay};
use crate::engine::Durability;
use crate::recorder::{ReadStep, Trace};
use espalier_terminal::{Failure, Result};

/// A connection and a separate schema.
pub struct Postgres {
    runtime: Runtime,
    client: Client,
    schema: String,
    statements: Statements,
}

struct Statements {
    get: Statement,
    get_many: Statement,
    forward: Statement,
    backward: Statement,
    put: Statement,
    put_many: Statement,
    delete_many: Statement,
    delete_range: Statement,
    add: Statement,
}

impl Statements {
    async fn prepare(client: &Client, schema: &str) -> std::result::Result<Self, Error> {
        let on = |text: &str| text.replace("{}", schema);
        let (get, forward, backward) = (
            on("SELECT value FROM {}.entries WHERE key = $1"),
            on(
                "SELECT key, value FROM {}.entries WHERE key >= $1 AND key < $2 ORDER BY key LIMIT $3",
            ),
            on(
                "SELECT key, value FROM {}.entries WHERE key >= $1 AND key < $2 \
                ORDER BY key DESC LIMIT $3",
            ),
        );
        let get_many = on("SELECT value FROM {}.entries WHERE key = ANY($1)");
        let set = "ON CONFLICT (key) DO UPDATE SET value = excluded.value";
        let put = on(&format!("INSERT INTO {{}}.entries VALUES ($1, $2) {set}"));
        let put_many = on(&format!(
            "INSERT INTO {{}}.entries SELECT * FROM unnest($1::bytea[], $2::bytea[]) {set}"
        ));
        let add = on("INSERT INTO {}.sums VALUES ($1, $2) \
                      ON CONFLICT (key) DO UPDATE SET value = sums.value + excluded.value");
        Ok(Self {
            get: client.prepare(&get).await?,
            get_many: client.prepare(&get_many).await?,
            forward: client.prepare(&forward).await?,
            backward: client.prepare(&backward).await?,
            put: client.prepare(&put).await?,
            put_many: client.prepare(&put_many).await?,
            delete_many: client
                .prepare(&on("DELETE FROM {}.entries WHERE key = ANY($1)"))
                .await?,
            delete_range: client
                .prepare(&on("DELETE FROM {}.entries WHERE key >= $1 AND key < $2"))
                .await?,
            add: client.prepare(&add).await?,
        })
    }
}

async fn connect(url: &str) -> std::result::Result<Client, Error> {
    // Options after the question mark are for the driver.
    let (client, connection) =
        tokio_postgres::connect(url.split('?').next().unwrap_or(url), NoTls).await?;
    // The task ends with the client, which also returns its errors.
    tokio::spawn(connection);
    Ok(client)
}

fn runtime() -> Result<Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    Ok(runtime?)
}

/// Drops a schema.
pub fn remove(url: &str, schema: &str) -> Result<()> {
    let removed = runtime()?.block_on(async {
        let client = connect(url).await?;
        client
            .batch_execute(&format!("DROP SCHEMA IF EXISTS {schema} CASCADE"))
            .await
    });
    removed.map_err(failed)
}

impl Postgres {
    /// Connects, with an empty schema of a name.
    pub fn create(url: &str, name: &str, durability: Durability) -> Result<Self> {
        let runtime = runtime()?;
        let synchronous = match durability {
            Durability::Durable => "on",
            _ => "off",
        };
        let made = runtime.block_on(async {
            let client = connect(url).await?;
            let set_up = format!(
                "SET synchronous_commit = {synchronous}; CREATE SCHEMA {name}; \
                 CREATE TABLE {name}.entries (key bytea PRIMARY KEY, value bytea NOT NULL); \
                 CREATE TABLE {name}.sums (key bytea PRIMARY KEY, value bigint NOT NULL)"
            );
            client.batch_execute(&set_up).await?;
            let statements = Statements::prepare(&client, name).await?;
            Ok((client, statements))
        });
        let (client, statements) = made.map_err(failed)?;
        Ok(Self {
            runtime,
            client,
            schema: name.to_owned(),
            statements,
        })
    }

    async fn put(&self, pairs: &[(&[u8], &[u8])]) -> std::result::Result<(), Error> {
        if let [(key, value)] = pairs {
            return self.execute(&self.statements.put, &[key, value]).await;
        }
        let (keys, values): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
        self.execute(&self.statements.put_many, &[&keys, &values])
            .await
    }

    async fn execute(
        &self,
        statement: &Statement,
        values: &[&(dyn ToSql + Sync)],
    ) -> std::result::Result<(), Error> {
        self.client.execute(statement, values).await?;
        Ok(())
    }

    async fn apply(&self, operations: &[Operation]) -> std::result::Result<(), Error> {
        let statements = &self.statements;
        for run in runs(operations) {
            match run {
                Run::Puts(pairs) => self.put(&pairs).await?,
                Run::Deletes(keys) => {
                    self.execute(&statements.delete_many, &[&keys]).await?;
                }
                Run::DeleteRange(range) => {
                    let bounds: [&(dyn ToSql + Sync); 2] = [&range.start, &range_end(range)];
                    self.execute(&statements.delete_range, &bounds).await?;
                }
                Run::Add(key, delta) => {
                    self.execute(&statements.add, &[&key, &delta]).await?;
                }
            }
        }
        Ok(())
    }
}

impl Remote for Postgres {
    type Error = Error;

    async fn read(&self, step: &ReadStep) -> std::result::Result<usize, Error> {
        let statements = &self.statements;
        let (statement, range, count) = match step {
            ReadStep::Get(key) => {
                let row = self.client.query_opt(&statements.get, &[key]).await?;
                return Ok(row.map_or(0, |row| row.get::<_, &[u8]>(0).len()));
            }
            ReadStep::GetMany(keys) => {
                let rows = self.client.query(&statements.get_many, &[keys]).await?;
                return Ok(rows.iter().map(|row| row.get::<_, &[u8]>(0).len()).sum());
            }
            ReadStep::Scan(range, Direction::Forward, count) => (&statements.forward, range, count),
            ReadStep::Scan(range, Direction::Backward, count) => {
                (&statements.backward, range, count)
            }
        };
        let count = i64::try_from(*count).unwrap_or(i64::MAX);
        let rows = self
            .client
            .query(statement, &[&range.start, &range_end(range), &count])
            .await?;
        let bytes = rows
            .iter()
            .map(|row| row.get::<_, &[u8]>(0).len() + row.get::<_, &[u8]>(1).len());
        Ok(bytes.sum())
    }

    async fn commit(&self, operations: &[Operation]) -> std::result::Result<(), Error> {
        if operations.len() == 1 {
            return self.apply(operations).await;
        }
        self.client.batch_execute("BEGIN").await?;
        self.apply(operations).await?;
        self.client.batch_execute("COMMIT").await
    }
}

impl RawEngine for Postgres {
    fn load(&self, contents: &Contents) -> Result<()> {
        let pairs: Vec<_> = contents.iter().collect();
        if pairs.is_empty() {
            return Ok(());
        }
        self.runtime.block_on(self.put(&pairs)).map_err(failed)
    }

    fn replay(&self, trace: &Trace) -> Result<usize> {
        let done = self.runtime.block_on(replay(self, trace));
        done.map_err(failed)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let remove = format!("DROP SCHEMA {} CASCADE", self.schema);
        // Anything left over has a unique name and disturbs nothing.
        drop(self.runtime.block_on(self.client.batch_execute(&remove)));
    }
}

fn failed(error: Error) -> Failure {
    let cause = std::error::Error::source(&error);
    let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
    Failure::data(format!("raw PostgreSQL: {error}{cause}"))
}
