//! What all collections of a key space share, and how transactions are committed.

use std::cell::Cell;
use std::sync::Arc;

use espalier_keyspace::{
    Batch, Driver, ErrorKind as KeyspaceErrorKind, OperationRef, Snapshot, Writer,
};
use parking_lot::{ReentrantMutex, ReentrantMutexGuard};

use crate::layout::{Home, Layout};
use crate::limits::CONFLICTS_MAX;
use crate::ram::RamRows;
use crate::rows::{Parts, Rows};
use crate::transaction::{Committed, Outcome, Transaction};
use crate::{Error, Result};

/// The driver, the rows in memory, and whose turn it is to commit.
pub(crate) struct Core {
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) layout: Layout,
    pub(crate) ram: Arc<RamRows>,
    /// Held by the one who commits, so that transactions of this process do not conflict. The cell
    /// says whether a transaction is under way.
    turn: ReentrantMutex<Cell<bool>>,
}

/// The body of a transaction. It may be called several times.
pub(crate) type Body<'a, R> = &'a mut dyn FnMut(&mut Transaction<'_>) -> Result<R>;

struct Turn<'a>(ReentrantMutexGuard<'a, Cell<bool>>);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl Core {
    pub(crate) fn new(driver: Arc<dyn Driver>, prefix: &[u8]) -> Self {
        Self {
            driver,
            layout: Layout::new(prefix),
            ram: Arc::default(),
            turn: ReentrantMutex::new(Cell::new(false)),
        }
    }

    /// A view of the newest state of a home.
    pub(crate) fn snapshot(&self, home: Home) -> Result<Box<dyn Snapshot>> {
        Ok(match home {
            Home::Engine => self.driver.snapshot()?,
            Home::Ram => Box::new(self.ram.snapshot()),
        })
    }

    fn turn(&self) -> Result<Turn<'_>> {
        let turn = self.turn.lock();
        if turn.replace(true) {
            // It is the guard of the outer transaction that ends it.
            return Err(Error::argument(
                "a transaction is under way in this thread; use it instead of the collection",
            ));
        }
        Ok(Turn(turn))
    }

    /// Does what `body` says in one commit. It is called again where somebody else was faster, and
    /// at last where nobody can be.
    pub(crate) fn run<R>(&self, body: Body<'_, R>) -> Result<R> {
        let outcome = {
            let _turn = self.turn()?;
            self.attempts(body)?
        };
        outcome.after.into_iter().for_each(|after| after());
        Ok(outcome.result)
    }

    fn attempts<R>(&self, body: Body<'_, R>) -> Result<Outcome<R>> {
        for _ in 0..CONFLICTS_MAX {
            match self.attempt(body) {
                Err(error) if error.is_overtaken() => {}
                outcome => return outcome,
            }
        }
        self.alone(body)
    }

    fn attempt<R>(&self, body: Body<'_, R>) -> Result<Outcome<R>> {
        let snapshot = self.driver.snapshot()?;
        let ram = self.ram.snapshot();
        let mut transaction = Transaction::new(self, Rows::new(&self.layout, &*snapshot, &ram));
        let result = body(&mut transaction)?;
        let (parts, ending) = transaction.end();
        drop(snapshot);
        drop(ram);
        let engine = if parts.engine.operations().len() == 0 {
            None
        } else {
            Some(self.driver.commit(parts.engine)?)
        };
        let ram = self.ram.apply(parts.ram)?;
        Ok(ending.committed(Committed { engine, ram }, result))
    }

    /// Commits in a write that no other can come before.
    fn alone<R>(&self, body: Body<'_, R>) -> Result<Outcome<R>> {
        let mut finished = None;
        let written = self.driver.write(&[], &mut |writer| {
            let ram = self.ram.snapshot();
            let planned = {
                let snapshot = writer.snapshot()?;
                let mut transaction =
                    Transaction::new(self, Rows::new(&self.layout, &*snapshot, &ram));
                body(&mut transaction).map(|result| (result, transaction.end()))
            };
            match planned {
                Ok((result, (parts, ending))) => {
                    let Parts { engine, ram } = parts;
                    finished = Some(Ok((result, ending, ram)));
                    apply(writer, &engine)
                }
                Err(error) => {
                    finished = Some(Err(error));
                    let message = "the transaction was refused";
                    Err(espalier_keyspace::Error::new(
                        KeyspaceErrorKind::Aborted,
                        message,
                    ))
                }
            }
        });
        match (written, finished) {
            (_, Some(Err(error))) => Err(error),
            (Err(error), _) => Err(error.into()),
            (Ok(_), None) => Err(Error::corrupt("an engine did not write")),
            (Ok(version), Some(Ok((result, ending, ram)))) => {
                let ram = self.ram.apply(ram)?;
                let engine = Some(version);
                Ok(ending.committed(Committed { engine, ram }, result))
            }
        }
    }
}

fn apply(writer: &mut dyn Writer, batch: &Batch) -> espalier_keyspace::Result<()> {
    batch
        .operations()
        .try_for_each(|operation| match operation {
            OperationRef::Put(key, value) => writer.put(key, value),
            OperationRef::Delete(key) => writer.delete(key),
            OperationRef::DeleteRange(range) => writer.delete_range(range),
            OperationRef::Add(key, delta) => writer.add(key, delta),
        })
}
