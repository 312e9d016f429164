//! Which part of a resource is read, and how (RFC 8040 §4.8).

use espalier_yang::Keys;
use espalier_yang::path::Fields;

/// Config, state, or both (RFC 8040 §4.8.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// Both.
    #[default]
    All,
    /// Config alone.
    Config,
    /// State alone, with the containers and entries that it stands in, and their keys.
    NonConfig,
}

/// How default values show (RFC 6243 §3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WithDefaults {
    /// What was set explicitly.
    #[default]
    Explicit,
    /// What was set, and the defaults of what was not.
    ReportAll,
    /// What differs from its default.
    Trim,
    /// As [`Self::ReportAll`], with defaults annotated.
    ReportAllTagged,
}

/// Whether the origin of configuration nodes is told (RFC 8527 §3.2.1). Only the operational state
/// datastore knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WithOrigin {
    /// It is not.
    #[default]
    Hidden,
    /// It is, as annotations of the nodes.
    Shown,
}

/// A page of the entries of a list or leaf-list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Begin after this entry.
    pub after: Option<Keys>,
    /// Then leave out this many. Costs as much as reading their keys.
    pub offset: u64,
    /// At most this many.
    pub limit: u64,
}

/// What to read below a resource. The default is everything that was set.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Levels of nodes, the resource itself being the first (RFC 8040 §4.8.2).
    pub depth: Option<u32>,
    /// Config or state.
    pub content: Content,
    /// The nodes to show (RFC 8040 §4.8.3).
    pub fields: Option<Fields>,
    /// How default values show.
    pub with_defaults: WithDefaults,
    /// Whether origins are told.
    pub with_origin: WithOrigin,
    /// Which entries, where the resource is a whole list or leaf-list.
    pub page: Option<Page>,
}
