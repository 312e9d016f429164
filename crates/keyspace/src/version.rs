//! Versions of a key space.

/// The version number of a committed state of one key space. Versions increase with every change.
///
/// Commits that become visible in one step (a group that shares a flush) share their version, so every
/// version names a state that readers could observe. A commit that changes nothing (a delete of an absent
/// key, an empty batch) returns the newest version and creates no new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u64);
