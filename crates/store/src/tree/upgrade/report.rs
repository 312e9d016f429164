//! What a change of modules is asked to do, and what it did.

use crate::tree::Datastore;

/// At most this many places are named for each datastore; the others are counted.
pub const PLACES_MAX: usize = 100;

/// What happens to data of nodes that the new modules do not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownData {
    /// The change is refused.
    #[default]
    Refuse,
    /// They are removed, by a commit that the history has.
    Drop,
}

impl UnknownData {
    /// By whether they are to be dropped.
    pub fn of(drop: bool) -> Self {
        match drop {
            true => Self::Drop,
            false => Self::Refuse,
        }
    }
}

/// How modules are changed.
#[derive(Clone, Copy, Debug, Default)]
pub struct UpgradeOptions<'a> {
    /// What happens to data of nodes that the new modules do not have.
    pub unknown: UnknownData,
    /// Kept in the log of the datastores whose data change.
    pub author: &'a str,
    /// Kept in the log of the datastores whose data change; where it is empty, the modules that changed.
    pub comment: &'a str,
    /// Who holds locks; empty for nobody in particular.
    pub session: &'a str,
    /// An anchor whose data have to meet the structure of the new modules alone, and from then on.
    pub loosened: Option<&'a str>,
}

/// A place in the data, and what happened there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedPlace {
    /// The data node, as an instance identifier (RFC 7951 §6.11); a list without keys is all its entries.
    pub path: String,
    /// What was changed, in words.
    pub change: String,
}

/// Places in the data: the first of each schema node, [`PLACES_MAX`] at most; all of them counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Those that are named.
    pub shown: Vec<ChangedPlace>,
    /// How many there are.
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
}

/// What a change of modules did to one datastore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatastoreUpgrade {
    /// The anchor.
    pub anchor: String,
    /// The datastore.
    pub datastore: Datastore,
    /// Whose private candidate it is; else empty.
    pub session: String,
    /// The version before.
    pub before: u64,
    /// The version that the change made; none where no data changed, and for candidates.
    pub version: Option<u64>,
    /// What is stored in another form now.
    pub converted: Places,
    /// What was removed, as the new modules do not have it.
    pub dropped: Places,
}

impl DatastoreUpgrade {
    /// Whether data were changed.
    pub fn is_changed(&self) -> bool {
        self.converted.count > 0 || self.dropped.count > 0 || self.version.is_some()
    }
}

/// What a change of modules did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpgradeReport {
    /// The datastores whose data were changed.
    pub datastores: Vec<DatastoreUpgrade>,
}
