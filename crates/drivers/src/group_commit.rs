//! Group commit: concurrent batches are applied in one transaction of the engine. Each batch has its own
//! preconditions, and a batch that fails does not affect the others.

use std::borrow::Cow;

use espalier_keyspace::{
    Batch, Committed, Error, KeyRange, OperationRef, Precondition, Result, Version, counter,
};

use crate::group_commit_queue::{CommitQueue, fail_all};

/// Why a transaction was aborted.
pub(crate) enum Abort<F> {
    /// The change itself is invalid or conflicts.
    Refused(Error),
    /// The engine failed; nothing was changed.
    Failed(F),
    /// The engine failed during the commit; the change may be present after a crash.
    Unknown(F),
    /// The engine cannot begin a transaction.
    NotBegun(Error),
}

impl<F> From<F> for Abort<F> {
    fn from(failure: F) -> Self {
        Self::Failed(failure)
    }
}

/// What to do after a failure of the engine.
pub(crate) enum Recovery {
    /// Retry: the cause is gone.
    Retry,
    /// Apply each batch in its own transaction: the group may have been too large.
    RetryOneByOne,
    /// Return the error.
    GiveUp(Error),
}

/// A write transaction. Its reads include its own changes.
pub(crate) trait WriteTransaction {
    /// The engine's own error.
    type Failure;

    /// The version of the state that the transaction changes, if it is known without a read.
    fn base_version(&self) -> Option<Version> {
        None
    }

    /// Reads the value of `key`.
    fn value_of(&self, key: &[u8]) -> std::result::Result<Option<Cow<'_, [u8]>>, Self::Failure>;

    /// Sets `key` to `value`.
    fn set(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<(), Self::Failure>;

    /// Removes `key`.
    fn remove(&mut self, key: &[u8]) -> std::result::Result<(), Self::Failure>;

    /// Removes every key of `range`.
    fn remove_range(&mut self, range: &KeyRange) -> std::result::Result<(), Self::Failure>;

    /// Adds `delta` to the counter at `key`.
    fn add_to_counter(
        &mut self,
        key: &[u8],
        delta: i64,
    ) -> std::result::Result<(), Abort<Self::Failure>> {
        let stored = self.value_of(key)?;
        let sum = counter::add(key, stored.as_deref(), delta).map_err(Abort::Refused)?;
        drop(stored);
        Ok(self.set(key, &sum)?)
    }
}

/// The body of a transaction.
pub(crate) type TransactionBody<'a, F> =
    &'a mut dyn FnMut(&mut dyn WriteTransaction<Failure = F>) -> std::result::Result<(), Abort<F>>;

/// An engine that supports group commit.
pub(crate) trait GroupCommit {
    /// The engine's own error.
    type Failure;

    /// Runs `fill` in a transaction, commits it, and notifies the watchers.
    fn run_transaction(
        &self,
        fill: TransactionBody<'_, Self::Failure>,
    ) -> std::result::Result<Version, Abort<Self::Failure>>;

    /// What to do after a transaction of `batches` batches failed.
    fn recovery(&self, failure: Self::Failure, batches: usize) -> Recovery {
        match batches {
            0 | 1 => Recovery::GiveUp(self.failed(failure)),
            _ => Recovery::RetryOneByOne,
        }
    }

    /// The error of a transaction that failed without effect.
    fn failed(&self, failure: Self::Failure) -> Error;

    /// The error of a transaction with unknown outcome.
    fn unknown(&self, failure: Self::Failure) -> Error;
}

/// The error of a transaction that is not retried.
pub(crate) fn error_of<E: GroupCommit>(engine: &E, abort: Abort<E::Failure>) -> Error {
    match abort {
        Abort::Refused(error) | Abort::NotBegun(error) => error,
        Abort::Unknown(failure) => engine.unknown(failure),
        Abort::Failed(failure) => engine.failed(failure),
    }
}

/// Commits a batch, grouped with concurrent commits of other threads.
pub(crate) fn commit<E: GroupCommit>(
    engine: &E,
    queue: &CommitQueue,
    batch: Batch,
) -> Result<Committed> {
    batch.check_limits()?;
    queue.commit(batch, &|batches| apply(engine, batches))
}

/// Tests preconditions within a transaction.
pub(crate) fn test<F>(
    transaction: &dyn WriteTransaction<Failure = F>,
    preconditions: &[Precondition],
) -> std::result::Result<(), Abort<F>> {
    for condition in preconditions {
        if transaction.value_of(&condition.key)?.as_deref() != condition.value.as_deref() {
            return Err(Abort::Refused(Error::conflict(&condition.key)));
        }
    }
    Ok(())
}

/// Applies batches in one transaction; returns one result for each.
fn apply<E: GroupCommit>(engine: &E, batches: &[Batch]) -> Vec<Result<Version>> {
    let mut refused: Vec<Option<Error>> = batches.iter().map(|_| None).collect();
    loop {
        match attempt(engine, batches, &mut refused) {
            Ok(results) => return results,
            Err((at, Abort::Refused(error))) => refused[at] = Some(error),
            Err((_, Abort::NotBegun(error))) => return fail_all(batches, error),
            Err((_, Abort::Unknown(failure))) => return fail_all(batches, engine.unknown(failure)),
            Err((_, Abort::Failed(failure))) => match engine.recovery(failure, batches.len()) {
                Recovery::Retry => {}
                Recovery::RetryOneByOne => {
                    let alone = |batch| apply(engine, std::slice::from_ref(batch));
                    return batches.iter().flat_map(alone).collect();
                }
                Recovery::GiveUp(error) => return fail_all(batches, error),
            },
        }
    }
}

/// Applies every batch that has not failed yet. Fails with the index of a batch that failed on its own, or
/// with the failure of the engine.
#[allow(clippy::type_complexity)]
fn attempt<E: GroupCommit>(
    engine: &E,
    batches: &[Batch],
    refused: &mut [Option<Error>],
) -> std::result::Result<Vec<Result<Version>>, (usize, Abort<E::Failure>)> {
    let mut conflicts: Vec<Option<Error>> = batches.iter().map(|_| None).collect();
    let mut current = 0;
    let changed = engine.run_transaction(&mut |transaction| {
        let mut is_first = true;
        for (at, batch) in batches.iter().enumerate() {
            current = at;
            if refused[at].is_some() {
                continue;
            }
            let is_met = |version| is_first && batch.is_assumed_met_at(version);
            let tested = match transaction.base_version().is_some_and(is_met) {
                true => Ok(()),
                false => test(transaction, batch.preconditions()),
            };
            match tested {
                Ok(()) => {
                    apply_operations(transaction, batch)?;
                    is_first = false;
                }
                Err(Abort::Refused(conflict)) => conflicts[at] = Some(conflict),
                Err(abort) => return Err(abort),
            }
        }
        Ok(())
    });
    let version = changed.map_err(|abort| (current, abort))?;
    let outcomes = refused.iter_mut().zip(conflicts);
    let result = |(refused, conflict): (&mut Option<Error>, Option<Error>)| {
        refused.take().or(conflict).map_or(Ok(version), Err)
    };
    Ok(outcomes.map(result).collect())
}

fn apply_operations<F>(
    transaction: &mut dyn WriteTransaction<Failure = F>,
    batch: &Batch,
) -> std::result::Result<(), Abort<F>> {
    for operation in batch.operations() {
        match operation {
            OperationRef::Put(key, value) => transaction.set(key, value)?,
            OperationRef::Delete(key) => transaction.remove(key)?,
            OperationRef::DeleteRange(range) => transaction.remove_range(range)?,
            OperationRef::Add(key, delta) => transaction.add_to_counter(key, delta)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use espalier_keyspace::ErrorKind;

    use super::*;

    /// An engine that cannot begin a transaction.
    struct Broken;

    impl GroupCommit for Broken {
        type Failure = std::fmt::Error;

        fn run_transaction(
            &self,
            _fill: TransactionBody<'_, Self::Failure>,
        ) -> std::result::Result<Version, Abort<Self::Failure>> {
            let message = "no transaction can begin";
            Err(Abort::NotBegun(Error::new(ErrorKind::Full, message)))
        }

        fn recovery(&self, _failure: Self::Failure, _batches: usize) -> Recovery {
            Recovery::Retry
        }

        fn failed(&self, _failure: Self::Failure) -> Error {
            Error::new(ErrorKind::Engine, "it failed")
        }

        fn unknown(&self, _failure: Self::Failure) -> Error {
            Error::new(ErrorKind::OutcomeUnknown, "unknown")
        }
    }

    /// Was treated as a failure of the first batch, and retried forever.
    #[test]
    fn a_transaction_that_cannot_begin_fails_every_batch_once() {
        let batches = [Batch::new(), Batch::new(), Batch::new()];
        for result in apply(&Broken, &batches) {
            let error = result.expect_err("the transaction fails");
            assert_eq!(error.kind(), ErrorKind::Full);
        }
        let committed = commit(&Broken, &CommitQueue::default(), Batch::new());
        assert_eq!(committed.expect_err("none").kind(), ErrorKind::Full);
    }
}
