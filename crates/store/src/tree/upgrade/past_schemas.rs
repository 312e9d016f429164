//! The modules of older versions.
//!
//! | key after the tree's prefix | value |
//! |---|---|
//! | version | the record of the schema set of this version and earlier ones |
//!
//! A row is written when the modules change, and deleted when its version is no longer kept.

use espalier_keyspace::{Batch, Direction, KeyRange, Snapshot, tuple};

use crate::catalog::Record;
use crate::error::Result;
use crate::keys::TreeId;
use crate::subspace::Subspace;
use crate::tree::history::KeptVersions;
use crate::tree::log::LogTarget;

fn row(tree: TreeId, version: u64) -> Vec<u8> {
    let mut key = tree.prefix(Subspace::Models);
    tuple::put_unsigned(&mut key, version);
    key
}

/// Stores the modules of the versions up to `version`, if such versions are kept.
pub(crate) fn put_past_schema(
    snapshot: &dyn Snapshot,
    tree: TreeId,
    version: u64,
    replaced: &Record,
    batch: &mut Batch,
) -> Result<()> {
    let KeptVersions { oldest, .. } = KeptVersions::read(snapshot, tree)?;
    release_past_schemas(snapshot, tree, oldest, batch)?;
    let key = row(tree, version);
    if version == 0 || version < oldest || snapshot.get(&key)?.is_some() {
        return Ok(());
    }
    batch.put(key, replaced.encode()?);
    Ok(())
}

/// Deletes the modules that only versions before `oldest` need.
pub(in crate::tree) fn release_past_schemas<T: LogTarget + ?Sized>(
    snapshot: &dyn Snapshot,
    tree: TreeId,
    oldest: u64,
    target: &mut T,
) -> Result<()> {
    let range = KeyRange::new(tree.prefix(Subspace::Models), row(tree, oldest));
    let is_any = snapshot.scan(&range, Direction::Forward)?.next()?.is_some();
    match is_any {
        true => target.delete_range(range),
        false => Ok(()),
    }
}

/// The modules of a version; none if they are those of the newest version.
pub(in crate::tree) fn past_schema_at(
    snapshot: &dyn Snapshot,
    tree: TreeId,
    version: u64,
) -> Result<Option<Record>> {
    let all = KeyRange::prefix(&tree.prefix(Subspace::Models));
    let range = KeyRange {
        start: row(tree, version),
        end: all.end,
    };
    let mut cursor = snapshot.scan(&range, Direction::Forward)?;
    match cursor.next()? {
        Some((_, value)) => Record::decode(value).map(Some),
        None => Ok(None),
    }
}

/// Visits every record that an older version of any datastore needs.
pub(crate) fn past_schema_records(
    snapshot: &dyn Snapshot,
    visit: &mut dyn FnMut(Record),
) -> Result<()> {
    let range = Subspace::Models.range();
    let mut cursor = snapshot.scan(&range, Direction::Forward)?;
    while let Some((_, value)) = cursor.next()? {
        visit(Record::decode(value)?);
    }
    Ok(())
}
