//! The writer of a streamed write, over a transaction of the engine.

use std::borrow::Cow;

use espalier_keyspace::{
    Error, KeyExisted, KeyRange, OperationRef, Precondition, Result, Snapshot, WriteBody, Writer,
};

use crate::group_commit::{self, Abort, WriteTransaction};

/// A transaction that a streamed write can use.
pub(crate) trait StreamedWrite: WriteTransaction {
    /// Sets `key` to `value` if it is absent.
    fn set_new(
        &mut self,
        key: &[u8],
        value: &[u8],
    ) -> std::result::Result<KeyExisted, Self::Failure> {
        if self.value_of(key)?.is_some() {
            return Ok(KeyExisted::Yes);
        }
        self.set(key, value)?;
        Ok(KeyExisted::No)
    }

    /// The state including the changes so far.
    fn view(&self) -> Box<dyn Snapshot + '_>;

    /// Fails if an earlier operation failed, after which the transaction cannot be continued.
    fn check_usable(&self) -> Result<()> {
        Ok(())
    }

    /// The error of a read.
    fn read_error(&self, failure: Self::Failure) -> Error;

    /// The error of a change.
    fn write_error(&mut self, failure: Self::Failure) -> Error;
}

/// Tests the preconditions, and runs the body of a streamed write.
pub(crate) fn run<T: StreamedWrite>(
    transaction: &mut T,
    preconditions: &[Precondition],
    fill: WriteBody<'_>,
) -> std::result::Result<(), Abort<T::Failure>> {
    group_commit::test(transaction, preconditions)?;
    fill(&mut TransactionWriter(transaction)).map_err(Abort::Refused)
}

/// Passes the operations of a write to a transaction, after checking their limits.
pub(crate) struct TransactionWriter<'t, T>(pub(crate) &'t mut T);

impl<T: StreamedWrite> TransactionWriter<'_, T> {
    fn change<R>(
        &mut self,
        change: impl FnOnce(&mut T) -> std::result::Result<R, T::Failure>,
    ) -> Result<R> {
        self.0.check_usable()?;
        change(self.0).map_err(|failure| self.0.write_error(failure))
    }
}

impl<T: StreamedWrite> Writer for TransactionWriter<'_, T> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        OperationRef::Put(key, value).check_limits()?;
        self.change(|transaction| transaction.set(key, value))
    }

    fn put_new(&mut self, key: &[u8], value: &[u8]) -> Result<KeyExisted> {
        OperationRef::Put(key, value).check_limits()?;
        self.change(|transaction| transaction.set_new(key, value))
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        if key.is_empty() {
            return Ok(None);
        }
        let value = self.0.value_of(key);
        value.map_err(|failure| self.0.read_error(failure))
    }

    fn snapshot(&mut self) -> Result<Box<dyn Snapshot + '_>> {
        Ok(self.0.view())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        OperationRef::Delete(key).check_limits()?;
        self.change(|transaction| transaction.remove(key))
    }

    fn delete_range(&mut self, range: &KeyRange) -> Result<()> {
        self.change(|transaction| transaction.remove_range(range))
    }

    fn add(&mut self, key: &[u8], delta: i64) -> Result<()> {
        OperationRef::Add(key, delta).check_limits()?;
        self.0.check_usable()?;
        self.0
            .add_to_counter(key, delta)
            .map_err(|abort| match abort {
                Abort::Refused(error) | Abort::NotBegun(error) => error,
                Abort::Failed(failure) | Abort::Unknown(failure) => self.0.write_error(failure),
            })
    }
}
