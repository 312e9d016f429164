//! The kinds of changes (RFC 8641 §4.4.1).

use espalier_store::FilteredChange;

/// A kind of change that a subscriber can exclude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeType {
    Create,
    Delete,
    Insert,
    Move,
    Replace,
}

impl ChangeType {
    const ALL: [Self; 5] = [
        Self::Create,
        Self::Delete,
        Self::Insert,
        Self::Move,
        Self::Replace,
    ];

    /// The name in `change-type`, and of the edit operation (RFC 8072).
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Delete => "delete",
            Self::Insert => "insert",
            Self::Move => "move",
            Self::Replace => "replace",
        }
    }

    /// The kind with a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The kind of a change.
    pub fn of(change: &FilteredChange) -> Self {
        match change {
            FilteredChange::Create(_) => Self::Create,
            FilteredChange::Delete => Self::Delete,
            FilteredChange::Insert(..) => Self::Insert,
            FilteredChange::Move(_) => Self::Move,
            FilteredChange::Replace(_) => Self::Replace,
        }
    }
}
