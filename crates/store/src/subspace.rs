//! The registry of key ranges: every stored byte belongs to one of these; ids are never reused.
//!
//! | id | range | since format |
//! |---|---|---|
//! | `01` | [`Subspace::Meta`]: the format version and the allocation counters | 1 |
//! | `02` | [`Subspace::Catalog`]: dataspaces, schema sets, anchors | 1 |
//! | `03` | [`Subspace::Dictionary`]: node dictionary, schema path to local id | 1 |
//! | `04` | [`Subspace::Compiled`]: compiled schema sets; derived, may be absent | 1 |
//! | `10` | [`Subspace::Tree`]: fragments and leaf-list entries | 1 |
//! | `11` | [`Subspace::Order`]: list key to position, for lists and leaf-lists ordered by user | 1 |
//! | `12` | [`Subspace::Log`]: the changes of each commit, with the old values | 1 |
//! | `13` | [`Subspace::Stamp`]: the version that last changed a resource | 1 |
//! | `15` | [`Subspace::Candidate`]: the changes of candidates | 1 |
//! | `16` | [`Subspace::Locks`]: locks, and commits that wait for their confirmation | 1 |
//! | `17` | [`Subspace::Index`]: from values to the nodes that have them | 1 |
//! | `18` | [`Subspace::Count`]: the number of entries of lists | 1 |
//! | `19` | [`Subspace::Origin`]: the origin of pushed operational state | 1 |
//! | `1a` | [`Subspace::Unapplied`]: configuration that is not applied | 1 |
//! | `1b` | [`Subspace::Models`]: the modules of older versions | 1 |
//! | `1c` | [`Subspace::Events`]: the event log of notifications, its state and its settings | 1 |
//! | `20` | [`Subspace::Statistics`]: the keys of the crate `espalier-stats` | 1 |
//! | `30` | [`Subspace::Documents`]: the keys of the crate `espalier-documents` | 1 |
//! | `40` | [`Subspace::Service`]: the keys of the crate `espalier-service` | 1 |

use espalier_keyspace::KeyRange;

/// The version of all layouts together. A store with a later version is rejected.
pub const FORMAT_VERSION: u64 = 1;

/// A registered key range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Subspace {
    /// Format version and counters.
    Meta = 0x01,
    /// Dataspaces, schema sets, anchors.
    Catalog = 0x02,
    /// Node dictionary.
    Dictionary = 0x03,
    /// Compiled schema sets: derived from the catalog, and compiled again if missing.
    Compiled = 0x04,
    /// Fragments and leaf-list entries.
    Tree = 0x10,
    /// Positions of entries ordered by user.
    Order = 0x11,
    /// Commit log.
    Log = 0x12,
    /// Stamps of resources.
    Stamp = 0x13,
    /// Changes of running that are not committed.
    Candidate = 0x15,
    /// Locks and pending confirmed commits.
    Locks = 0x16,
    /// From values to the nodes that have them.
    Index = 0x17,
    /// The number of entries of lists.
    Count = 0x18,
    /// Origins of state that was pushed into the operational state datastore.
    Origin = 0x19,
    /// Paths of configuration that is not applied.
    Unapplied = 0x1a,
    /// The modules of older versions.
    Models = 0x1b,
    /// The event log of notifications.
    Events = 0x1c,
    /// Statistics: the layout is defined by the crate `espalier-stats`, independently of the others.
    Statistics = 0x20,
    /// Documents: the layout is defined by the crate `espalier-documents`, independently of the others.
    Documents = 0x30,
    /// Tokens and the audit log: the layout is defined by the crate `espalier-service`.
    Service = 0x40,
}

impl Subspace {
    /// Every registered range, in key order.
    pub const ALL: [Self; 19] = [
        Self::Meta,
        Self::Catalog,
        Self::Dictionary,
        Self::Compiled,
        Self::Tree,
        Self::Order,
        Self::Log,
        Self::Stamp,
        Self::Candidate,
        Self::Locks,
        Self::Index,
        Self::Count,
        Self::Origin,
        Self::Unapplied,
        Self::Models,
        Self::Events,
        Self::Statistics,
        Self::Documents,
        Self::Service,
    ];

    /// The ranges whose keys begin with an anchor.
    pub const OF_ANCHORS: [Self; 12] = [
        Self::Tree,
        Self::Order,
        Self::Log,
        Self::Stamp,
        Self::Candidate,
        Self::Locks,
        Self::Index,
        Self::Count,
        Self::Origin,
        Self::Unapplied,
        Self::Models,
        Self::Events,
    ];

    /// A key that begins with this range's id.
    pub fn key(self) -> Vec<u8> {
        vec![self as u8]
    }

    /// All keys of this range.
    pub fn range(self) -> KeyRange {
        KeyRange::prefix(&[self as u8])
    }

    /// The display name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Catalog => "catalog",
            Self::Dictionary => "dictionary",
            Self::Compiled => "compiled",
            Self::Tree => "tree",
            Self::Order => "order",
            Self::Log => "log",
            Self::Stamp => "stamp",
            Self::Candidate => "candidate",
            Self::Locks => "hold",
            Self::Index => "index",
            Self::Count => "count",
            Self::Origin => "origin",
            Self::Unapplied => "withheld",
            Self::Models => "models",
            Self::Events => "events",
            Self::Statistics => "statistics",
            Self::Documents => "documents",
            Self::Service => "service",
        }
    }
}
