//! Clients of servers, which answer asynchronously.

use espalier_keyspace::Operation;

use crate::recorder::{ReadStep, Trace};

/// What is asked of a server's own client.
pub(super) trait Remote {
    /// What it fails with.
    type Error;

    /// Reads; how many bytes were found.
    async fn read(&self, step: &ReadStep) -> Result<usize, Self::Error>;

    /// Applies the operations of a commit.
    async fn commit(&self, operations: &[Operation]) -> Result<(), Self::Error>;
}

/// Does what is in a trace; how many bytes its reads found.
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
