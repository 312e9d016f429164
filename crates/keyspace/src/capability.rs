//! Optional capabilities of a driver.

/// How a driver detects changes made by other processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchKind {
    /// The engine sends notifications.
    Push,
    /// The driver polls, or no other process can change the engine.
    Poll,
}

/// The capabilities of a driver. They may skip a test of the conformance suite or select a cheaper
/// algorithm in a caller; they never change a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capability {
    /// Whether acknowledged commits survive the end of the process (and, in durable mode, a crash of the
    /// machine).
    pub durable: bool,
    /// Whether several processes may open the same engine at once.
    pub shared: bool,
    /// Whether a read may wait for another process or machine. An asynchronous server must then read on
    /// another thread.
    pub remote: bool,
    /// How changes by other processes are detected.
    pub watch: WatchKind,
    /// The maximum number of operations in one engine transaction; larger batches are staged.
    pub operations_max: Option<usize>,
}
