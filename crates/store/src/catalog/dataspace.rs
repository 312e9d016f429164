//! Dataspaces: name spaces of schema sets and anchors.

use espalier_keyspace::{KeyRange, Snapshot};

use super::{keys, name};
use crate::error::{Error, Result};
use crate::fragment::{put_varint, take_varint};
use crate::store::Store;

const KIND: &str = "dataspace";

impl Store {
    /// Creates a dataspace.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::BadName`].
    pub fn create_dataspace(&self, name: &str) -> Result<()> {
        name::check(KIND, name)?;
        self.change_catalog(|snapshot, batch| {
            let key = keys::dataspace(name);
            if snapshot.get(&key)?.is_some() {
                return Err(Error::Exists {
                    kind: KIND,
                    name: name.to_owned(),
                });
            }
            let id = Self::allocate_id(snapshot, batch)?;
            let mut value = Vec::new();
            put_varint(&mut value, id);
            batch.put(key, value);
            Ok(())
        })
    }

    /// Deletes a dataspace that has no schema sets and no anchors.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::InUse`].
    pub fn delete_dataspace(&self, name: &str) -> Result<()> {
        self.change_catalog(|snapshot, batch| {
            let id = dataspace_id(snapshot, name)?;
            for (prefix, by) in [
                (keys::anchors(id), "an anchor"),
                (keys::schema_sets(id), "a schema set"),
            ] {
                if Self::first_key_with_prefix(snapshot, &prefix)?.is_some() {
                    return Err(Error::InUse {
                        kind: KIND,
                        name: name.to_owned(),
                        by: by.to_owned(),
                    });
                }
            }
            batch.delete(keys::dataspace(name));
            Ok(())
        })
    }

    /// The names of the dataspaces, sorted.
    pub fn dataspaces(&self) -> Result<Vec<String>> {
        dataspaces_of(&*self.driver().snapshot()?)
    }

    /// At most `limit` names of dataspaces, sorted: those not before `from`, which need not be a name.
    pub fn dataspaces_from(&self, from: &[u8], limit: usize) -> Result<Vec<String>> {
        let snapshot = self.driver().snapshot()?;
        Self::names(&*snapshot, &keys::dataspaces(), from, limit)
    }

    /// The first key below a prefix.
    pub(super) fn first_key_with_prefix(
        snapshot: &dyn Snapshot,
        prefix: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let range = KeyRange::strictly_below(prefix);
        let mut cursor = snapshot.scan(&range, espalier_keyspace::Direction::Forward)?;
        Ok(cursor.next()?.map(|(key, _)| key.to_vec()))
    }

    /// The names below a prefix, not before `from`, at most `limit`.
    pub(super) fn names(
        snapshot: &dyn Snapshot,
        prefix: &[u8],
        from: &[u8],
        limit: usize,
    ) -> Result<Vec<String>> {
        let mut names = Vec::new();
        Self::each_named(snapshot, (prefix, from), limit, &mut |name, _| {
            names.push(name.to_owned());
            Ok(())
        })?;
        Ok(names)
    }

    /// Visits at most `limit` rows below a prefix, by name and value: those whose names are not before `from`.
    pub(super) fn each_named(
        snapshot: &dyn Snapshot,
        (prefix, from): (&[u8], &[u8]),
        limit: usize,
        visit: &mut dyn FnMut(&str, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut range = KeyRange::strictly_below(prefix);
        if !from.is_empty() {
            range.start = [prefix, from].concat();
        }
        let mut cursor = snapshot.scan(&range, espalier_keyspace::Direction::Forward)?;
        for _ in 0..limit {
            let Some((key, value)) = cursor.next()? else {
                break;
            };
            let name = std::str::from_utf8(&key[prefix.len()..])
                .map_err(|_| Error::corrupt("a name in the catalog is not UTF-8"))?;
            visit(name, value)?;
        }
        Ok(())
    }
}

/// The names of the dataspaces in a snapshot, sorted.
pub(crate) fn dataspaces_of(state: &dyn Snapshot) -> Result<Vec<String>> {
    Store::names(state, &keys::dataspaces(), &[], usize::MAX)
}

/// The id of a dataspace.
pub(super) fn dataspace_id(snapshot: &dyn Snapshot, name: &str) -> Result<u64> {
    match snapshot.get(&keys::dataspace(name))? {
        Some(value) => take_varint(&mut &*value),
        None => Err(Error::Unknown {
            kind: KIND,
            name: name.to_owned(),
        }),
    }
}
