//! What a driver can do beyond the contract.

/// How a driver learns of changes that other processes made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchKind {
    /// The engine tells.
    Push,
    /// The driver asks, or nobody else can change the engine.
    Poll,
}

/// What a driver has. It may remove a test from the conformance suite or choose a cheaper way in
/// a caller; it never changes a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capability {
    /// Whether acknowledged commits survive the end of the process (and, in durable mode, of the
    /// machine).
    pub durable: bool,
    /// Whether several processes may open the same engine at once.
    pub shared: bool,
    /// Whether the engine adds to a counter without reading it first.
    pub native_add: bool,
    /// Whether a read may wait for another process or machine. Who must not wait (a thread that serves
    /// many) has another thread read.
    pub remote: bool,
    /// How changes by others are noticed.
    pub watch: WatchKind,
    /// The most operations in one engine transaction; larger batches are staged.
    pub operations_max: Option<usize>,
}
