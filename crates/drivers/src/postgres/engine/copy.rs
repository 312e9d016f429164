//! Inserts many rows with `COPY`, where the server has no row yet between the first and the last of them. It takes
//! a third of the time of `INSERT`, which must handle that a row exists.

use std::pin::pin;

use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Statement};

use super::connection::{Connection, OptionalStatement};
use super::error::Failure;
use super::reads::column;
use super::statements::{self, Query};
use super::transaction::STATEMENT_BYTES;

/// The fewest rows that are copied. Fewer are set by statements.
pub(super) const ROWS_MIN: usize = 500;

/// The most searches for the next existing key.
const PROBES_MAX: usize = 16;

/// A key and its value.
pub(super) type Put<'p> = (&'p [u8], &'p [u8]);

/// The first copy of a session runs within a savepoint, so that a rejection does not abort the transaction.
const SAVEPOINT: &str = "SAVEPOINT copies";
const RELEASE: &str = "RELEASE SAVEPOINT copies";
const ROLL_BACK: &str = "ROLLBACK TO SAVEPOINT copies";

impl Connection {
    /// Copies those rows, given in key order, that are new. Returns the rows that must be set by statements.
    pub(super) fn copy_new<'p>(&mut self, puts: Vec<Put<'p>>) -> Result<Vec<Put<'p>>, Failure> {
        let Some(copy) = self.copy_statement()? else {
            return Ok(puts);
        };
        let mut left = Vec::new();
        let mut rest = puts.as_slice();
        for _ in 0..PROBES_MAX {
            if rest.len() < ROWS_MIN {
                break;
            }
            let rows = self.query(Query::FirstKey, &[&rest[0].0])?;
            let there = rows.first().map(|row| column(row, 0)).transpose()?;
            let is_new = |put: &Put<'_>| there.is_none_or(|there| put.0 < there);
            let (new, later) = rest.split_at(rest.partition_point(is_new));
            match new.len() < ROWS_MIN {
                true => left.extend_from_slice(new),
                false => self.copy(&copy, new)?,
            }
            let old = later.iter().take_while(|put| Some(put.0) == there).count();
            left.extend_from_slice(&later[..old]);
            rest = &later[old..];
        }
        left.extend_from_slice(rest);
        Ok(left)
    }

    /// The prepared `COPY` statement; `None` if the server does not support it.
    fn copy_statement(&mut self) -> Result<Option<Statement>, Failure> {
        if let OptionalStatement::NotTried = self.copy {
            self.text(SAVEPOINT)?;
            let prepared = self.prepare_one(&statements::copy(&self.schema));
            let tried = prepared.and_then(|copy| {
                self.copy(&copy, &[])?;
                Ok(copy)
            });
            self.text(match tried {
                Ok(_) => RELEASE,
                Err(_) => ROLL_BACK,
            })?;
            self.copy = OptionalStatement::of(tried, "copies")?;
        }
        Ok(self.copy.statement().cloned())
    }

    fn copy(&mut self, copy: &Statement, puts: &[Put<'_>]) -> Result<(), Failure> {
        let mut parts = Vec::new();
        let (mut begin, mut bytes) = (0, 0);
        for (at, (key, value)) in puts.iter().enumerate() {
            if bytes > STATEMENT_BYTES {
                parts.push(&puts[begin..at]);
                (begin, bytes) = (at, 0);
            }
            bytes += key.len() + value.len();
        }
        parts.push(&puts[begin..]);
        for part in parts {
            self.wait(|client| copy_all(client, copy, part))?;
        }
        Ok(())
    }
}

async fn copy_all(client: &Client, copy: &Statement, puts: &[Put<'_>]) -> Result<(), Error> {
    let sink = client.copy_in(copy).await?;
    let mut writer = pin!(BinaryCopyInWriter::new(sink, &[Type::BYTEA, Type::BYTEA]));
    for (key, value) in puts {
        writer.as_mut().write(&[key, value]).await?;
    }
    writer.finish().await.map(drop)
}
