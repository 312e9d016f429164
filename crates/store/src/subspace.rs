//! The registry of key ranges: every durable byte lies in one of these, and ids are never reused.
//!
//! | id | range | since format |
//! |---|---|---|
//! | `01` | [`Subspace::Meta`]: the format version and the allocation counters | 1 |
//! | `02` | [`Subspace::Catalog`]: dataspaces, schema sets, anchors | 1 |
//! | `03` | [`Subspace::Dictionary`]: node dictionary, schema path to local id | 1 |
//! | `04` | [`Subspace::Compiled`]: compiled schema sets; derived, may be absent | 1 |
//! | `10` | [`Subspace::Tree`]: fragments and leaf-list entries | 1 |
//! | `11` | [`Subspace::Order`]: list key to position, for lists and leaf-lists ordered by user | 1 |
//! | `12` | [`Subspace::Log`]: what each commit changed, with the old values | 1 |
//! | `13` | [`Subspace::Stamp`]: which version last changed a resource | 1 |
//! | `15` | [`Subspace::Candidate`]: what candidates change | 1 |
//! | `16` | [`Subspace::Hold`]: locks, and commits that wait for their confirmation | 1 |
//! | `17` | [`Subspace::Index`]: from values to the places that hold them | 1 |
//! | `18` | [`Subspace::Count`]: how many entries lists have | 1 |
//! | `19` | [`Subspace::Origin`]: where what was pushed comes from | 1 |
//! | `1a` | [`Subspace::Withheld`]: configuration that is not in use | 1 |
//! | `1b` | [`Subspace::Models`]: the modules that older versions were made under | 1 |
//! | `20` | [`Subspace::Statistics`]: what the crate `espalier-stats` lays out | 1 |
//! | `30` | [`Subspace::Documents`]: what the crate `espalier-documents` lays out | 1 |

use espalier_keyspace::KeyRange;

/// The version of all layouts together. A store of a later version is refused.
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
    /// Compiled schema sets: derived from the catalog, and made anew where they are absent.
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
    Hold = 0x16,
    /// From values to the places that hold them.
    Index = 0x17,
    /// How many entries lists have.
    Count = 0x18,
    /// Origins of what was pushed into the operational state datastore.
    Origin = 0x19,
    /// Paths of configuration that is not in use.
    Withheld = 0x1a,
    /// The modules that older versions were made under.
    Models = 0x1b,
    /// Statistics: laid out by the crate `espalier-stats`, which knows nothing of the others.
    Statistics = 0x20,
    /// Documents: laid out by the crate `espalier-documents`, which knows nothing of the others.
    Documents = 0x30,
}

impl Subspace {
    /// Every registered range, in key order.
    pub const ALL: [Self; 17] = [
        Self::Meta,
        Self::Catalog,
        Self::Dictionary,
        Self::Compiled,
        Self::Tree,
        Self::Order,
        Self::Log,
        Self::Stamp,
        Self::Candidate,
        Self::Hold,
        Self::Index,
        Self::Count,
        Self::Origin,
        Self::Withheld,
        Self::Models,
        Self::Statistics,
        Self::Documents,
    ];

    /// Those whose keys begin with an anchor.
    pub const OF_ANCHORS: [Self; 11] = [
        Self::Tree,
        Self::Order,
        Self::Log,
        Self::Stamp,
        Self::Candidate,
        Self::Hold,
        Self::Index,
        Self::Count,
        Self::Origin,
        Self::Withheld,
        Self::Models,
    ];

    /// A key that begins with this range's id.
    pub fn key(self) -> Vec<u8> {
        vec![self as u8]
    }

    /// All keys of this range.
    pub fn range(self) -> KeyRange {
        KeyRange::prefix(&[self as u8])
    }

    /// The name for people.
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
            Self::Hold => "hold",
            Self::Index => "index",
            Self::Count => "count",
            Self::Origin => "origin",
            Self::Withheld => "withheld",
            Self::Models => "models",
            Self::Statistics => "statistics",
            Self::Documents => "documents",
        }
    }
}
