//! The check of a whole store: catalog, anchors, and keys without an owner.

use std::collections::BTreeSet;

use espalier_keyspace::{Direction, Finding, KeyRange, tuple};

use super::{fragments, order};
use crate::error::Result;
use crate::keys::anchor_prefix;
use crate::store::Store;
use crate::subspace::Subspace;
use crate::tree::{Datastore, OriginRecord, StampRecord, Tree, verify_indexes};

/// Anchors are read from the catalog this many at a time.
const ANCHORS_AT_ONCE: usize = 1000;

/// The datastores that are stored by themselves; the candidate is read as changes over running.
const STORED_DATASTORES: [Datastore; 5] = [
    Datastore::Running,
    Datastore::Startup,
    Datastore::FactoryDefault,
    Datastore::Candidate,
    Datastore::Operational,
];

impl Store {
    /// Checks the engine ([`espalier_keyspace::Driver::check`]), then the stored data ([`Self::check_data`]).
    pub fn check(&self, progress: &mut dyn FnMut(u64)) -> Result<Vec<Finding>> {
        let mut findings = self.driver().check()?;
        findings.extend(self.check_data(progress)?);
        Ok(findings)
    }

    /// Checks the catalog and every anchor: every key belongs to a schema node, every value decodes, entries
    /// have the key values of their place, every parent node exists, the order index agrees with the
    /// positions, and indexes and counts agree with the values; the log has every version that is kept, and
    /// every key belongs to an anchor in the catalog. The contents of statistics and documents are not
    /// checked. Linear in the number of keys; `progress` gets the number of keys so far.
    pub fn check_data(&self, progress: &mut dyn FnMut(u64)) -> Result<Vec<Finding>> {
        let mut findings = self.unregistered_keys()?;
        let mut anchor_ids = BTreeSet::new();
        let mut keys = 0;
        for dataspace in self.dataspaces()? {
            let mut after: Option<String> = None;
            loop {
                let anchors = self.anchors(&dataspace, after.as_deref(), ANCHORS_AT_ONCE)?;
                let Some(last) = anchors.last() else { break };
                after = Some(last.name.clone());
                for anchor in &anchors {
                    let running = self.tree(&dataspace, &anchor.name, Datastore::Running)?;
                    anchor_ids.insert(running.id().anchor);
                    let name = format!("{dataspace}/{}", anchor.name);
                    check_anchor(&running, &name, &mut findings, &mut |more| {
                        keys += more;
                        progress(keys);
                    })?;
                }
            }
        }
        self.keys_without_anchor(&anchor_ids, &mut findings)?;
        Ok(findings)
    }

    /// Finds keys of anchors that are not in the catalog.
    fn keys_without_anchor(
        &self,
        anchors: &BTreeSet<u64>,
        findings: &mut Vec<Finding>,
    ) -> Result<()> {
        let snapshot = self.driver().snapshot()?;
        for subspace in Subspace::OF_ANCHORS {
            let mut range = subspace.range();
            loop {
                let mut cursor = snapshot.scan(&range, Direction::Forward)?;
                let Some((key, _)) = cursor.next()? else {
                    break;
                };
                let place = format!("{} key {}", subspace.name(), key.escape_ascii());
                let anchor = match tuple::take(&mut &key[subspace.key().len()..]) {
                    Ok(tuple::Element::Integer(anchor)) => u64::try_from(anchor).ok(),
                    _ => None,
                };
                let Some(anchor) = anchor else {
                    let problem = "the key has no anchor".to_owned();
                    findings.push(Finding { place, problem });
                    break;
                };
                if !anchors.contains(&anchor) {
                    let problem = format!("the catalog has no anchor with the id {anchor}");
                    findings.push(Finding { place, problem });
                }
                match KeyRange::prefix(&anchor_prefix(subspace, anchor)).end {
                    Some(end) => range.start = end,
                    None => break,
                }
            }
        }
        Ok(())
    }

    /// Finds keys outside the registered ranges; returns the first key of each run of such keys.
    fn unregistered_keys(&self) -> Result<Vec<Finding>> {
        let snapshot = self.driver().snapshot()?;
        let mut findings = Vec::new();
        let mut gap = KeyRange::all();
        let ranges = Subspace::ALL.into_iter().map(Subspace::range);
        for next in ranges.map(Some).chain([None]) {
            gap.end = next.as_ref().map(|range| range.start.clone());
            let mut cursor = snapshot.scan(&gap, Direction::Forward)?;
            if let Some((key, _)) = cursor.next()? {
                findings.push(Finding {
                    place: format!("key {}", key.escape_ascii()),
                    problem: "it is outside the registered key ranges".to_owned(),
                });
            }
            let Some(end) = next.and_then(|range| range.end) else {
                break;
            };
            gap.start = end;
        }
        Ok(findings)
    }
}

/// Checks every datastore of an anchor. `name` is used in the findings.
fn check_anchor(
    running: &Tree,
    name: &str,
    findings: &mut Vec<Finding>,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let mut trees = Vec::new();
    for datastore in STORED_DATASTORES {
        trees.push(running.sibling_datastore(datastore, "")?);
    }
    trees.extend(running.private_candidates()?);
    for tree in trees {
        tree.locks()?;
        let datastore = tree.datastore();
        // If a candidate conflicts with running, its reading is neither of the two.
        if datastore.is_candidate() && (!tree.has_changes()? || !tree.conflicts()?.is_empty()) {
            continue;
        }
        let view = tree.stored_view()?;
        let place = match datastore {
            Datastore::Running => name.to_owned(),
            other => format!("{name} {} {}", other.name(), tree.session()),
        };
        let mut found = DatastoreFindings { place, findings };
        fragments::check(&view, &mut found, progress)?;
        check_schema_match(&view, &mut found)?;
        order::check(&view, &mut found)?;
        // A candidate shows its own stamps and those of running, which has its own versions.
        if !datastore.is_candidate() {
            check_stamps(&view, &mut found)?;
        }
        if datastore == Datastore::Running {
            let log = tree.id().prefix(Subspace::Log);
            tree.check_history(view.state().snapshot, &mut |version, problem| {
                found.push(&log, format!("version {version}: {problem}"));
            })?;
            tree.check_events(view.state().snapshot, &mut |key, problem| {
                found.push(key, problem);
            })?;
            verify_indexes(&view.state(), &mut |key, problem| found.push(key, problem))?;
        }
        check_origins(&view, &mut found)?;
    }
    Ok(())
}

/// Collects the findings of one datastore.
pub(crate) struct DatastoreFindings<'a> {
    place: String,
    findings: &'a mut Vec<Finding>,
}

impl DatastoreFindings<'_> {
    /// Records a fault at a data node.
    fn push_at_path(&mut self, path: &str, problem: &str) {
        self.findings.push(Finding {
            place: format!("{} {path}", self.place),
            problem: problem.to_owned(),
        });
    }

    /// Records a fault at a key.
    pub fn push(&mut self, key: &[u8], problem: impl Into<String>) {
        let place = format!("{} key {}", self.place, key.escape_ascii());
        self.findings.push(Finding {
            place,
            problem: problem.into(),
        });
    }
}

/// Checks that the data matches the schema.
fn check_schema_match(view: &crate::tree::View, found: &mut DatastoreFindings<'_>) -> Result<()> {
    let examined = view.examine()?;
    for error in examined.errors.iter() {
        found.push_at_path(&error.path, &error.message);
    }
    let more = examined.errors.len() - examined.errors.iter().len();
    if more > 0 {
        found.push_at_path("/", &format!("{more} more places do not match the models"));
    }
    for place in &examined.converted.shown {
        let problem = format!(
            "it is not stored in the form that the models require: {}",
            place.change
        );
        found.push_at_path(&place.path, &problem);
    }
    Ok(())
}

/// Checks that every stamp decodes, and that none is of a version after the datastore's own. (A later time is
/// possible: a clock may have been wrong.)
fn check_stamps(view: &crate::tree::View, found: &mut DatastoreFindings<'_>) -> Result<()> {
    let state = view.state();
    let newest = view.stamp(&espalier_yang::InstancePath::root())?;
    let range = KeyRange::prefix(&state.tree.prefix(Subspace::Stamp));
    let mut cursor = state.snapshot.scan(&range, Direction::Forward)?;
    while let Some((key, value)) = cursor.next()? {
        match StampRecord::decode(value) {
            Err(error) => found.push(key, error.to_string()),
            Ok(stamp) if stamp.any.version > newest.version => {
                found.push(key, "a stamp is newer than the datastore");
            }
            Ok(_) => {}
        }
    }
    Ok(())
}

/// Checks that every record of origins decodes.
fn check_origins(view: &crate::tree::View, found: &mut DatastoreFindings<'_>) -> Result<()> {
    let state = view.state();
    let range = KeyRange::prefix(&state.tree.prefix(Subspace::Origin));
    let mut cursor = state.snapshot.scan(&range, Direction::Forward)?;
    while let Some((key, value)) = cursor.next()? {
        if let Err(error) = OriginRecord::decode(value) {
            found.push(key, error.to_string());
        }
    }
    Ok(())
}
