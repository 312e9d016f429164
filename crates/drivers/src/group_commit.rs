//! Commits in groups: batches that come at once are applied in one change of the engine, each under
//! the preconditions that it has, and a batch that has to be refused is refused alone.

use std::borrow::Cow;

use espalier_keyspace::{
    Batch, Committed, Error, KeyRange, OperationRef, Precondition, Result, Version,
};

use crate::commit_queue::CommitQueue;

/// Why a change was not made.
pub(crate) enum Abort<F> {
    /// For what it is.
    Refused(Error),
    /// Because the engine failed; nothing was changed.
    Failed(F),
    /// Because the engine failed at the very end: the change may be there after a crash.
    Unknown(F),
    /// Because the engine cannot begin a change at all.
    NotBegun(Error),
}

impl<F> From<F> for Abort<F> {
    fn from(failure: F) -> Self {
        Self::Failed(failure)
    }
}

/// What a failure of the engine leaves to do.
pub(crate) enum Recovery {
    /// Its cause is gone: the same again.
    Retry,
    /// It may be for the size of the change: each batch for itself.
    RetryOneByOne,
    /// Nothing.
    GiveUp(Error),
}

/// A change while it is made. What it reads is what it has left so far.
pub(crate) trait WriteTransaction {
    /// The engine's own error.
    type Failure;

    /// The version of the state that it changes; none where that takes a look to know.
    fn before(&self) -> Option<Version> {
        None
    }

    /// The value of `key`.
    fn held(&self, key: &[u8]) -> std::result::Result<Option<Cow<'_, [u8]>>, Self::Failure>;

    /// Sets `key` to `value`.
    fn set(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<(), Self::Failure>;

    /// Removes `key`.
    fn remove(&mut self, key: &[u8]) -> std::result::Result<(), Self::Failure>;

    /// Removes every key of `range`.
    fn remove_range(&mut self, range: &KeyRange) -> std::result::Result<(), Self::Failure>;

    /// Adds `delta` to the counter at `key`.
    fn sum(&mut self, key: &[u8], delta: i64) -> std::result::Result<(), Abort<Self::Failure>>;
}

/// What makes a change.
pub(crate) type TransactionBody<'a, F> =
    &'a mut dyn FnMut(&mut dyn WriteTransaction<Failure = F>) -> std::result::Result<(), Abort<F>>;

/// An engine whose commits come in groups.
pub(crate) trait GroupCommit {
    /// The engine's own error.
    type Failure;

    /// Runs `fill` in a change, which happens as a whole or not at all, and tells the watchers.
    fn change(
        &self,
        fill: TransactionBody<'_, Self::Failure>,
    ) -> std::result::Result<Version, Abort<Self::Failure>>;

    /// What to do after a failure that a change of `batches` batches ended with.
    fn recovery(&self, failure: Self::Failure, batches: usize) -> Recovery;

    /// The error of a change that failed, of which nothing is there.
    fn failed(&self, failure: Self::Failure) -> Error;

    /// The error of a change that may be there or not.
    fn unknown(&self, failure: Self::Failure) -> Error;
}

/// The error of a change that is not tried again.
pub(crate) fn error_of<E: GroupCommit>(engine: &E, stop: Abort<E::Failure>) -> Error {
    match stop {
        Abort::Refused(error) | Abort::NotBegun(error) => error,
        Abort::Unknown(failure) => engine.unknown(failure),
        Abort::Failed(failure) => engine.failed(failure),
    }
}

/// Commits a batch, together with those that other threads commit at the same time.
pub(crate) fn commit<E: GroupCommit>(
    engine: &E,
    queue: &CommitQueue,
    batch: Batch,
) -> Result<Committed> {
    batch.check_limits()?;
    queue.commit(batch, &|batches| apply(engine, batches))
}

/// Tests the preconditions of a change on what it has left so far.
pub(crate) fn test<F>(
    change: &dyn WriteTransaction<Failure = F>,
    preconditions: &[Precondition],
) -> std::result::Result<(), Abort<F>> {
    for condition in preconditions {
        if change.held(&condition.key)?.as_deref() != condition.value.as_deref() {
            return Err(Abort::Refused(Error::conflict(&condition.key)));
        }
    }
    Ok(())
}

/// Applies batches in one change; one result for each.
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

fn fail_all(batches: &[Batch], error: Error) -> Vec<Result<Version>> {
    let kind = error.kind();
    let message = error.to_string();
    let mut results: Vec<_> = batches[1..]
        .iter()
        .map(|_| Err(Error::new(kind, message.clone())))
        .collect();
    results.insert(0, Err(error));
    results
}

/// Applies every batch that is not refused yet. Fails with the index of a batch that has to be
/// refused alone, or with the failure of the engine.
#[allow(clippy::type_complexity)]
fn attempt<E: GroupCommit>(
    engine: &E,
    batches: &[Batch],
    refused: &mut [Option<Error>],
) -> std::result::Result<Vec<Result<Version>>, (usize, Abort<E::Failure>)> {
    let mut conflicts: Vec<Option<Error>> = batches.iter().map(|_| None).collect();
    let mut current = 0;
    let changed = engine.change(&mut |change| {
        let mut is_first = true;
        for (at, batch) in batches.iter().enumerate() {
            current = at;
            if refused[at].is_some() {
                continue;
            }
            let is_met = |version| is_first && batch.is_met_at(version);
            let tested = match change.before().is_some_and(is_met) {
                true => Ok(()),
                false => test(change, batch.preconditions()),
            };
            match tested {
                Ok(()) => {
                    apply_operations(change, batch)?;
                    is_first = false;
                }
                Err(Abort::Refused(conflict)) => conflicts[at] = Some(conflict),
                Err(stop) => return Err(stop),
            }
        }
        Ok(())
    });
    let version = changed.map_err(|stop| (current, stop))?;
    let outcomes = refused.iter_mut().zip(conflicts);
    let result = |(refused, conflict): (&mut Option<Error>, Option<Error>)| {
        refused.take().or(conflict).map_or(Ok(version), Err)
    };
    Ok(outcomes.map(result).collect())
}

fn apply_operations<F>(
    change: &mut dyn WriteTransaction<Failure = F>,
    batch: &Batch,
) -> std::result::Result<(), Abort<F>> {
    for operation in batch.operations() {
        match operation {
            OperationRef::Put(key, value) => change.set(key, value)?,
            OperationRef::Delete(key) => change.remove(key)?,
            OperationRef::DeleteRange(range) => change.remove_range(range)?,
            OperationRef::Add(key, delta) => change.sum(key, delta)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use espalier_keyspace::ErrorKind;

    use super::*;

    /// An engine that cannot begin.
    struct Broken;

    impl GroupCommit for Broken {
        type Failure = std::fmt::Error;

        fn change(
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

    /// It was taken for a refusal of the first batch, and tried again for ever.
    #[test]
    fn a_change_that_cannot_begin_fails_every_batch_once() {
        let batches = [Batch::new(), Batch::new(), Batch::new()];
        for result in apply(&Broken, &batches) {
            let error = result.expect_err("no change was made");
            assert_eq!(error.kind(), ErrorKind::Full);
        }
        let committed = commit(&Broken, &CommitQueue::default(), Batch::new());
        assert_eq!(committed.expect_err("none").kind(), ErrorKind::Full);
    }
}
