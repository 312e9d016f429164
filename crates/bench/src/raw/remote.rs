//! Asynchronous clients of servers.

use espalier_keyspace::Operation;

use crate::recorder::{ReadStep, Trace};

/// The interface of asynchronous clients.
pub(super) trait Remote {
    /// The error of the client.
    type Error;

    /// Reads; returns the number of bytes found.
    async fn read(&self, step: &ReadStep) -> Result<usize, Self::Error>;

    /// Applies the operations of a commit.
    async fn commit(&self, operations: &[Operation]) -> Result<(), Self::Error>;
}

/// Replays a trace; returns the number of bytes that its reads found.
pub(super) async fn replay<R: Remote>(remote: &R, trace: &Trace) -> Result<usize, R::Error> {
    let mut bytes = 0;
    for step in &trace.reads {
        bytes += remote.read(step).await?;
    }
    for operations in &trace.commits {
        remote.commit(operations).await?;
    }
    Ok(bytes)
}
