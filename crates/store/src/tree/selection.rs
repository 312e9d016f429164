//! The selected part of a resource and its representation (RFC 8040 §4.8).

use espalier_yang::data::Origin;
use espalier_yang::path::Fields;

/// Config, state or both (RFC 8040 §4.8.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// Both.
    #[default]
    All,
    /// Configuration only.
    Config,
    /// State data only, with the enclosing containers and entries and their keys.
    NonConfig,
}

/// How default values are reported (RFC 6243 §3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WithDefaults {
    /// Only explicitly set values.
    #[default]
    Explicit,
    /// Set values, and the defaults of unset leaves.
    ReportAll,
    /// Only values that differ from the default.
    Trim,
    /// As [`Self::ReportAll`], with defaults annotated.
    ReportAllTagged,
}

/// Whether the origin of configuration nodes is reported (RFC 8527 §3.2.1). Only the operational state
/// datastore has origins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WithOrigin {
    /// No origins.
    #[default]
    Hidden,
    /// Origins as annotations of the nodes.
    Shown,
}

/// The origins of the configuration nodes to report (RFC 8526 §3.1.1). Only the operational state datastore has origins;
/// state data has none, and is not affected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OriginFilter {
    /// All of them.
    #[default]
    All,
    /// Any of these (`origin-filter`).
    Only(Vec<Origin>),
    /// None of these (`negated-origin-filter`).
    Except(Vec<Origin>),
}

impl OriginFilter {
    /// Whether nodes with an origin are reported.
    pub fn passes(&self, origin: Origin) -> bool {
        match self {
            Self::All => true,
            Self::Only(origins) => origins.contains(&origin),
            Self::Except(origins) => !origins.contains(&origin),
        }
    }
}

/// The part of a resource to read. The default is all set data.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Levels of nodes, the resource itself being the first (RFC 8040 §4.8.2).
    pub depth: Option<u32>,
    /// Whether configuration, state data, or both are reported.
    pub content: Content,
    /// The nodes to report (RFC 8040 §4.8.3).
    pub fields: Option<Fields>,
    /// How default values are reported.
    pub with_defaults: WithDefaults,
    /// Whether origins are reported.
    pub with_origin: WithOrigin,
    /// The origins of the configuration nodes to report; only for reads with a filter ([`crate::View::read_filtered`]).
    pub origins: OriginFilter,
    /// The maximum number of entries of each list and leaf-list below the target, if there is one.
    pub sublist_limit: Option<u64>,
}
