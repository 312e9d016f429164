//! Optimistic commits: read a snapshot, decide, commit under preconditions, and try again after a conflict.

use crate::{
    Batch, ConflictRetry, Driver, Error, ErrorKind, Precondition, Snapshot, Version, Writer,
};

/// The error type of a layer above the key space.
pub trait KeyspaceCause: From<Error> {
    /// The error of the key space that caused this error, if any.
    fn keyspace(&self) -> Option<&Error>;

    /// Whether another writer was faster, so that the decision can be made again on a new snapshot.
    fn is_conflict(&self) -> bool {
        self.keyspace().is_some_and(Error::is_conflict)
    }
}

impl KeyspaceCause for Error {
    fn keyspace(&self) -> Option<&Error> {
        Some(self)
    }
}

/// Runs `attempt` until its result is not a conflict, within the limits of `retry`. `attempt` receives the
/// number of conflicts so far.
///
/// # Errors
/// Those of `attempt`; a conflict only when the time limit is exceeded.
pub fn retry_conflicts<T, E: KeyspaceCause>(
    mut retry: ConflictRetry,
    mut attempt: impl FnMut(u32) -> Result<T, E>,
) -> Result<T, E> {
    loop {
        match attempt(retry.tries()) {
            Err(error) if error.is_conflict() => match retry.wait_after_conflict() {
                Err(_) if retry.tries() == 0 => return Err(error),
                waited => waited?,
            },
            result => return result,
        }
    }
}

/// An optimistic commit.
pub struct Transact<'a, E> {
    /// The engine.
    pub driver: &'a dyn Driver,
    /// Called with each conflict, before the next attempt. An error ends the commit.
    pub on_conflict: &'a dyn Fn(&Error) -> Result<(), E>,
    /// For how long conflicts are retried.
    pub retry: ConflictRetry,
}

impl<'a, E: KeyspaceCause> Transact<'a, E> {
    /// A commit that is retried for [`crate::CONFLICT_TIMEOUT`].
    pub fn new(driver: &'a dyn Driver) -> Self {
        Self {
            driver,
            on_conflict: &|_| Ok(()),
            retry: ConflictRetry::new(),
        }
    }

    /// Commits the batch that `propose` derives from a snapshot, and returns what `propose` returned with
    /// it. `snapshot` takes the snapshot of an attempt, also a cached one ([`crate::Purpose::Update`]). An empty batch is
    /// not committed. The decision to commit nothing, or an error, has no precondition that protects it: it is only
    /// returned if the snapshot was the newest state, else made once more.
    ///
    /// # Errors
    /// Those of `propose` and of the engine.
    pub fn run<T>(
        self,
        snapshot: &dyn Fn() -> Result<Box<dyn Snapshot + Send>, E>,
        propose: Propose<'_, T, E>,
    ) -> Result<T, E> {
        let mut is_current = false;
        retry_conflicts(self.retry, |_| {
            let attempted = self.attempt(snapshot, propose, &mut is_current);
            if let Err(error) = &attempted
                && let Some(conflict) = error.keyspace().filter(|error| error.is_conflict())
            {
                (self.on_conflict)(conflict)?;
            }
            attempted
        })
    }

    fn attempt<T>(
        &self,
        snapshot: &dyn Fn() -> Result<Box<dyn Snapshot + Send>, E>,
        propose: Propose<'_, T, E>,
        is_current: &mut bool,
    ) -> Result<T, E> {
        loop {
            let snapshot = snapshot()?;
            let version = snapshot.version();
            let (batch, result) = match propose(snapshot) {
                Ok((batch, result)) => (batch, Ok(result)),
                Err(error) if error.keyspace().is_some() => return Err(error),
                Err(error) => (Batch::new(), Err(error)),
            };
            if batch.operations().len() > 0 {
                self.driver.commit(batch)?;
                return result;
            }
            // After `false`, later snapshots include every commit made before the call.
            if *is_current || self.driver.is_current(version)? {
                return result;
            }
            *is_current = true;
        }
    }
}

/// Decides what to commit on a snapshot.
pub type Propose<'a, T, E> = &'a mut dyn FnMut(Box<dyn Snapshot + Send>) -> Result<(Batch, T), E>;

/// Like [`Driver::write`], for a `fill` with a result, or with the errors of a layer above.
///
/// # Errors
/// Those of `fill` and of the engine; nothing is changed then.
pub fn write<T, E: From<Error>>(
    driver: &dyn Driver,
    preconditions: &[Precondition],
    fill: &mut dyn FnMut(&mut dyn Writer) -> Result<T, E>,
) -> Result<(Version, T), E> {
    let mut filled = None;
    let written = driver.write(preconditions, &mut |writer| {
        let result = fill(writer);
        let is_filled = result.is_ok();
        filled = Some(result);
        match is_filled {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::Aborted, "the write was rejected")),
        }
    });
    match (written, filled) {
        (_, Some(Err(error))) => Err(error),
        (Err(error), _) => Err(error.into()),
        (Ok(version), Some(Ok(result))) => Ok((version, result)),
        (Ok(_), None) => {
            let message = "the engine reported a commit without running the write";
            Err(Error::new(ErrorKind::Engine, message).into())
        }
    }
}

/// Runs a read that needs one snapshot from beginning to end, at most `tries_max` times: an engine with
/// limited history may give up the snapshot in the meantime. `read` takes its own snapshot.
///
/// # Errors
/// Those of `read`; [`ErrorKind::SnapshotTooOld`] if that was the error of every try.
pub fn retry_too_old<T, E: KeyspaceCause>(
    tries_max: usize,
    mut read: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let is_too_old = |error: &E| {
        let kind = error.keyspace().map(Error::kind);
        kind == Some(ErrorKind::SnapshotTooOld)
    };
    for _ in 1..tries_max {
        match read() {
            Err(error) if is_too_old(&error) => {}
            result => return result,
        }
    }
    read()
}
