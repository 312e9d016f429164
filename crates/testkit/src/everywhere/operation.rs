//! Operations as data, without types of the product: every front end translates them.

/// An operation, with who performs it.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The operation.
    pub operation: Operation,
    /// The session; empty if none.
    pub session: &'static str,
    /// The author of a commit.
    pub author: Option<&'static str>,
    /// The comment of a commit.
    pub comment: Option<&'static str>,
}

/// The format of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// JSON (RFC 7951).
    #[default]
    Json,
    /// XML (RFC 7950).
    Xml,
}

/// A document.
#[derive(Clone, Copy, Debug, Default)]
pub struct Body {
    /// Its format.
    pub format: Format,
    /// Its text.
    pub text: &'static str,
}

/// An operation on a datastore, which is named as in RFC 8342. Versions are relative to the start of the case.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Reads a resource.
    Read(Read),
    /// `<edit-config>` (RFC 6241 §7.2).
    Edit {
        /// The datastore.
        datastore: &'static str,
        /// The document, with operations as metadata.
        body: Body,
        /// `default-operation`; empty for the default.
        default_operation: &'static str,
        /// `test-option`; empty for the default.
        test_option: &'static str,
    },
    /// Loads a document, in place of the data or merged into them.
    Load {
        /// The datastore.
        datastore: &'static str,
        /// The document.
        body: Body,
        /// Whether it replaces the data.
        replaces: bool,
    },
    /// Creates a child of a resource (RFC 8040 §4.4).
    Create {
        /// The datastore.
        datastore: &'static str,
        /// The parent resource.
        parent: &'static str,
        /// The child.
        body: Body,
        /// The position of an entry.
        placement: Option<Placement>,
    },
    /// Creates or replaces a resource (RFC 8040 §4.5).
    Replace {
        /// The datastore.
        datastore: &'static str,
        /// The resource.
        target: &'static str,
        /// Its new content.
        body: Body,
        /// The position of an entry.
        placement: Option<Placement>,
    },
    /// Merges into an existing resource (RFC 8040 §4.6).
    Merge {
        /// The datastore.
        datastore: &'static str,
        /// The resource.
        target: &'static str,
        /// The content to merge.
        body: Body,
    },
    /// Deletes a resource (RFC 8040 §4.7).
    Delete {
        /// The datastore.
        datastore: &'static str,
        /// The resource, or a whole list.
        target: &'static str,
    },
    /// Sets a leaf, with the nodes above it.
    Set {
        /// The datastore.
        datastore: &'static str,
        /// The leaf.
        target: &'static str,
        /// The value as text.
        value: &'static str,
    },
    /// Locks a datastore, or nodes of it (RFC 6241 §7.5, RFC 5717).
    Lock {
        /// The datastore.
        datastore: &'static str,
        /// The nodes; empty for the whole datastore.
        paths: &'static [&'static str],
    },
    /// Releases a lock.
    Unlock {
        /// The datastore.
        datastore: &'static str,
        /// The number of a partial lock: from 1 in a datastore without locks.
        partial: Option<u32>,
        /// Whose lock it may be.
        owner: LockOwner,
    },
    /// Lists the locks.
    Locks {
        /// The datastore.
        datastore: &'static str,
    },
    /// Commits a candidate (RFC 6241 §8.3.4.1, §8.4).
    Commit {
        /// The candidate.
        datastore: &'static str,
        /// The timeout in seconds of a confirmed commit.
        confirmed: Option<u32>,
        /// `persist`.
        persist: Option<&'static str>,
        /// `persist-id`.
        persist_id: Option<&'static str>,
    },
    /// `<cancel-commit>` (RFC 6241 §8.4.4.1).
    CancelCommit {
        /// `persist-id`.
        persist_id: Option<&'static str>,
    },
    /// `<validate>` (RFC 6241 §8.6.4.1).
    Validate {
        /// The datastore.
        datastore: &'static str,
    },
    /// `<discard-changes>` (RFC 6241 §8.3.4.2).
    Discard {
        /// The candidate.
        datastore: &'static str,
    },
    /// Rebases a candidate on running.
    Update {
        /// The candidate.
        datastore: &'static str,
        /// The side that wins in a conflict.
        prefer: Prefer,
    },
    /// `<copy-config>` (RFC 6241 §7.3).
    Copy {
        /// The source.
        from: &'static str,
        /// The target.
        to: &'static str,
    },
    /// `<delete-config>` (RFC 6241 §7.4).
    DeleteDatastore {
        /// The datastore.
        datastore: &'static str,
    },
    /// Ends the session.
    EndSession,
    /// Lists commits, newest first.
    History {
        /// The version to begin with; the newest if `None`.
        from: Option<u64>,
        /// The maximum number.
        limit: usize,
    },
    /// Compares two versions.
    Difference {
        /// The old version.
        from: u64,
        /// The new version.
        to: u64,
        /// The node that is compared.
        path: &'static str,
    },
    /// Restores a version.
    Rollback {
        /// The version.
        version: u64,
    },
    /// Invokes an RPC or action (RFC 7950 §7.14, §7.15).
    Invoke {
        /// The RPC, or the action below its instance.
        path: &'static str,
        /// The input; empty for none.
        input: Body,
    },
    /// Receives the past events of a stream (RFC 5277 §2.1.1, RFC 8040 §6, RFC 8639 §2.4.2.1).
    Receive(Receive),
}

impl Default for Operation {
    fn default() -> Self {
        Self::Read(Read::default())
    }
}

/// A read with its filters. Texts are those of RFC 8040 §4.8, so that wrong ones can be sent.
#[derive(Clone, Debug)]
pub struct Read {
    /// The datastore.
    pub datastore: &'static str,
    /// The resource.
    pub path: &'static str,
    /// `depth`.
    pub depth: Option<&'static str>,
    /// `content`.
    pub content: ContentChoice,
    /// `fields`.
    pub fields: Option<&'static str>,
    /// `with-defaults`.
    pub with_defaults: DefaultsMode,
    /// `with-origin`.
    pub with_origin: bool,
    /// `limit` and `offset`.
    pub page: Option<Page>,
    /// The format of the result.
    pub format: Format,
    /// An earlier version.
    pub version: Option<u64>,
}

impl Default for Read {
    fn default() -> Self {
        Self {
            datastore: "running",
            path: "/",
            depth: None,
            content: ContentChoice::All,
            fields: None,
            with_defaults: DefaultsMode::Explicit,
            with_origin: false,
            page: None,
            format: Format::Json,
            version: None,
        }
    }
}

/// `content` (RFC 8040 §4.8.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentChoice {
    /// Both.
    All,
    /// Configuration.
    Config,
    /// State data.
    NonConfig,
    /// A text that is none of these.
    Wrong(&'static str),
}

/// `with-defaults` (RFC 6243).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultsMode {
    /// Set values.
    Explicit,
    /// Set values and defaults.
    ReportAll,
    /// Set values that differ from the default.
    Trim,
    /// As `ReportAll`, with defaults marked.
    ReportAllTagged,
    /// A text that is none of these.
    Wrong(&'static str),
}

/// A page of entries.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// The entries to skip.
    pub offset: u64,
    /// The maximum number of entries.
    pub limit: u64,
}

/// `insert` and `point` (RFC 8040 §4.8.5, §4.8.6).
#[derive(Clone, Copy, Debug)]
pub struct Placement {
    /// `first`, `last`, `before` or `after`.
    pub insert: &'static str,
    /// The entry before or after it.
    pub point: Option<&'static str>,
}

/// Whose lock is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockOwner {
    /// The session of the request.
    Session,
    /// Any session.
    Anybody,
}

/// The side that wins in a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefer {
    /// None: a conflict is an error.
    Neither,
    /// Running.
    Running,
    /// The candidate.
    Candidate,
}

/// A replay of events.
#[derive(Clone, Copy, Debug)]
pub struct Receive {
    /// The stream.
    pub stream: &'static str,
    /// Events from this time on; `None` for no past events.
    pub start: Option<Moment>,
    /// Events until this time; `None` for all that there are.
    pub stop: Option<Moment>,
    /// The filter.
    pub filter: Option<EventFilterText>,
    /// The format of the events.
    pub format: Format,
}

/// A time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The time before a step of the case, counted from 1. A front end gets it as [`Moment::At`].
    Step(usize),
    /// Milliseconds since 1970.
    At(u64),
    /// A text, which can be wrong.
    Text(&'static str),
}

/// A filter on the content of events, as text, which can be wrong.
#[derive(Clone, Copy, Debug)]
pub enum EventFilterText {
    /// An XPath expression.
    XPath(&'static str),
    /// A subtree filter (RFC 6241 §6), as the value of `stream-subtree-filter` in JSON.
    Subtree(&'static str),
}
