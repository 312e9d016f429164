//! Options and result of a change of modules.

use crate::tree::Datastore;
use espalier_yang::schema::SchemaSource;

/// Maximum number of listed places of a datastore; the others are only counted.
pub const PLACES_MAX: usize = 100;

/// What happens to data of nodes that the new modules do not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownData {
    /// The change is refused.
    #[default]
    Refuse,
    /// It is removed, by a commit in the history.
    Drop,
}

impl UnknownData {
    /// [`Self::Drop`] if `drop`.
    pub fn of(drop: bool) -> Self {
        match drop {
            true => Self::Drop,
            false => Self::Refuse,
        }
    }
}

/// A value for a leaf wherever it is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafFill {
    /// The leaf, in the new modules: a path without keys.
    pub path: String,
    /// The value, as text.
    pub value: String,
}

/// The options of a change of modules.
#[derive(Clone, Copy, Debug, Default)]
pub struct UpgradeOptions<'a> {
    /// What happens to data of nodes that the new modules do not have.
    pub unknown: UnknownData,
    /// Stored in the log of the datastores with versions.
    pub author: &'a str,
    /// Stored in the log of the datastores with versions; if empty, the changed modules are listed.
    pub comment: &'a str,
    /// The session that holds locks; empty if none.
    pub session: &'a str,
    /// Values for leaves that the data lack, for those that the new modules make mandatory. Leaves in a case of a choice
    /// are filled where other nodes of the case exist. Configuration only.
    pub fills: &'a [LeafFill],
    /// Modules that the new schema must not implement. The compiler implements a module that others augment, deviate or
    /// refer to, also if it is not among those to implement.
    pub removed: &'a [String],
    /// The modules that the new ones were made from. If the schema set has others, the change fails with
    /// [`Error::Precondition`](crate::Error::Precondition).
    pub based_on: Option<&'a SchemaSource>,
    /// An anchor whose data, from now on, must conform only to the structure of its modules.
    pub structure_only_anchor: Option<&'a str>,
}

/// A changed place in the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedPlace {
    /// The data node, as an instance identifier (RFC 7951 §6.11); a list without keys stands for all its
    /// entries.
    pub path: String,
    /// A description of the change.
    pub change: String,
}

/// Places in the data: the first ones of each schema node, at most [`PLACES_MAX`], and the total number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The listed places.
    pub shown: Vec<ChangedPlace>,
    /// The total number.
    pub count: u64,
}

impl Places {
    /// Adds a place.
    pub(crate) fn push(&mut self, place: ChangedPlace) {
        if self.shown.len() < PLACES_MAX {
            self.shown.push(place);
        }
        self.count += 1;
    }

    /// As [`Self::push`], with a place that is made only if it is listed.
    pub(crate) fn push_listed(&mut self, place: impl FnOnce() -> ChangedPlace) {
        match self.shown.len() < PLACES_MAX {
            true => self.push(place()),
            false => self.count += 1,
        }
    }
}

/// The result of a change of modules for one datastore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatastoreUpgrade {
    /// The anchor.
    pub anchor: String,
    /// The datastore.
    pub datastore: Datastore,
    /// The session of a private candidate; else empty.
    pub session: String,
    /// The version before.
    pub before: u64,
    /// The version that the change created; none for candidates.
    pub version: Option<u64>,
    /// Whether stored data was changed. If not, the version records the change of modules only.
    pub is_rewritten: bool,
    /// Converted data.
    pub converted: Places,
    /// Removed data of nodes that the new modules do not have.
    pub dropped: Places,
    /// Leaves that got a value of [`UpgradeOptions::fills`].
    pub filled: Places,
}

impl DatastoreUpgrade {
    /// Whether data was changed.
    pub fn is_changed(&self) -> bool {
        self.converted.count > 0 || self.dropped.count > 0 || self.is_rewritten
    }
}

/// The result of a change of modules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpgradeReport {
    /// The datastores with a new version, and candidates that were recomputed.
    pub datastores: Vec<DatastoreUpgrade>,
}

impl UpgradeReport {
    /// Whether data of any datastore was changed.
    pub fn is_changed(&self) -> bool {
        self.datastores.iter().any(DatastoreUpgrade::is_changed)
    }
}
