//! Checks stored data against its schema, and removes what does not conform.
//!
//! A datastore is converted to its own schema, and every value is read again. Nonconforming data was left
//! by a program that did not check the data when the modules changed, or by damage.

use std::sync::Arc;

use espalier_keyspace::{Batch, ConflictRetry, Snapshot, retry_conflicts};
use espalier_yang::{Errors, InstancePath};

use super::anchor_upgrade::{has_changes, state};
use super::convert::{Conversion, MismatchPolicy, convert};
use super::nodes::NodeMapping;
use super::report::{Places, UpgradeOptions};
use crate::check::stale_order_rows;
use crate::error::{Error, Result};
use crate::fragment::{Fragment, Packed, take_entry_value};
use crate::keys::take_local_id;
use crate::node_dictionary;
use crate::overlay::Overlay;
use crate::store::Store;
use crate::subspace::Subspace;
use crate::tree::candidate::CandidateState;
use crate::tree::change::{KeyChange, each_change, logged_ranges};
use crate::tree::commit_pipeline::Basis;
use crate::tree::locate::TreeState;
use crate::tree::read::skip_entry;
use crate::tree::{Datastore, Tree, View};

/// The datastores with rows of their own, candidates last, because they are based on running.
const REPAIRED_DATASTORES: [Datastore; 5] = [
    Datastore::Running,
    Datastore::Startup,
    Datastore::FactoryDefault,
    Datastore::Operational,
    Datastore::Candidate,
];

/// Receives the rows that a repair removes.
pub trait RepairOutput {
    /// Receives a row before it is removed.
    ///
    /// # Errors
    /// An error ends the repair; the datastore of the row is unchanged then.
    fn row(&mut self, removed: &Removed) -> Result<()>;

    /// Makes the rows durable; called before they are removed.
    ///
    /// # Errors
    /// As of [`Self::row`].
    fn sync(&mut self) -> Result<()>;
}

/// The mode of a repair.
enum RepairMode<'a> {
    Check,
    Remove(&'a mut dyn RepairOutput),
}

/// A row, or some leaves of one, that a repair removes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The dataspace and the anchor, separated by `/`.
    pub anchor: String,
    /// The datastore.
    pub datastore: Datastore,
    /// The session of a private candidate; else empty.
    pub session: String,
    /// The node, as far as its path is readable.
    pub path: String,
    /// The removed values by leaf name; a leaf-list entry has no name.
    pub values: Vec<(String, String)>,
    /// The key, in hexadecimal.
    pub key: String,
    /// The value of the row, in hexadecimal.
    pub row: String,
}

/// The result of a repair of one datastore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The dataspace and the anchor, separated by `/`.
    pub anchor: String,
    /// The datastore.
    pub datastore: Datastore,
    /// The session of a private candidate; else empty.
    pub session: String,
    /// The data that does not conform, with the reasons.
    pub removed: Places,
    /// Data whose stored form differs from the schema's.
    pub converted: Places,
    /// The number of changed rows, without those of the order index.
    pub rows: u64,
    /// The version that the repair created.
    pub version: Option<u64>,
    /// The constraints that the remaining data violates.
    pub violations: Errors,
}

/// The data that does not conform to the schema of a view.
pub(crate) struct SchemaCheck {
    pub errors: Errors,
    pub converted: Places,
}

impl View {
    /// Finds data of this state that does not conform to its schema.
    pub(crate) fn examine(&self) -> Result<SchemaCheck> {
        let state = self.state();
        let nodes = NodeMapping::identity(state.compiled);
        let conversion = convert(state, state.compiled, &nodes, MismatchPolicy::Refuse)?;
        Ok(SchemaCheck {
            errors: conversion.errors,
            converted: conversion.converted,
        })
    }
}

impl Store {
    /// Finds stored data that does not conform to the schema: values of other types, rows of removed nodes,
    /// entries with other keys. With an output, every such row is passed to it and then removed, by one
    /// commit for each datastore. If the data changes meanwhile, the output may get a row twice.
    ///
    /// # Errors
    /// Errors of the output, `in-use` if a session holds a lock or a candidate conflicts with running, and
    /// errors of the engine.
    pub fn repair(
        &self,
        options: UpgradeOptions<'_>,
        output: Option<&mut dyn RepairOutput>,
    ) -> Result<Vec<Repair>> {
        let mut mode = match output {
            Some(output) => RepairMode::Remove(output),
            None => RepairMode::Check,
        };
        let mut repairs = Vec::new();
        for dataspace in self.dataspaces()? {
            for anchor in self.anchors(&dataspace, None, usize::MAX)? {
                let name = format!("{dataspace}/{}", anchor.name);
                let running = self.tree(&dataspace, &anchor.name, Datastore::Running)?;
                let mut trees = Vec::new();
                for datastore in REPAIRED_DATASTORES {
                    trees.push(running.sibling_datastore(datastore, "")?);
                }
                trees.extend(running.private_candidates()?);
                for tree in trees {
                    repairs.extend(tree.repair(&name, options, &mut mode)?);
                }
            }
        }
        Ok(repairs)
    }
}

impl Tree {
    fn repair(
        &self,
        name: &str,
        options: UpgradeOptions<'_>,
        mode: &mut RepairMode<'_>,
    ) -> Result<Option<Repair>> {
        retry_conflicts(ConflictRetry::new(), |_| {
            self.checked_conflict(match self.datastore().is_candidate() {
                true => self.repair_candidate(name, options, mode),
                false => self.repair_stored(name, options, mode),
            })
        })
    }

    fn repair_stored(
        &self,
        name: &str,
        options: UpgradeOptions<'_>,
        mode: &mut RepairMode<'_>,
    ) -> Result<Option<Repair>> {
        let (overlay, mut conversion) = self.repaired(self.stored_view()?.into_snapshot())?;
        if !has_changes(&overlay, self)? {
            return Ok(None);
        }
        let mut repair = self.report(name, &mut conversion);
        repair.rows = self.report_rows(name, &overlay, mode)?;
        if let RepairMode::Remove(output) = mode {
            output.sync()?;
            repair.version = Some(self.put_repaired(overlay, &conversion, options)?);
        }
        if self.is_validated()
            && let Err(Error::Data(violations)) = self.validate_whole()
        {
            repair.violations = violations;
        }
        Ok(Some(repair))
    }

    /// Repairs the changes of a candidate. The content of running is repaired there.
    fn repair_candidate(
        &self,
        name: &str,
        options: UpgradeOptions<'_>,
        mode: &mut RepairMode<'_>,
    ) -> Result<Option<Repair>> {
        let snapshot = self.store().driver().snapshot()?;
        let candidate_state = self.candidate_state(&*snapshot)?;
        if !candidate_state.has_changes() {
            return Ok(None);
        }
        // Running must not change until the candidate is stored again.
        let basis = self
            .sibling_datastore(Datastore::Running, "")?
            .basis(&*snapshot)?;
        let own = candidate_state.data(self);
        let (overlay, mut conversion) =
            self.repaired(Box::new(Overlay::with(snapshot, Arc::clone(&own))))?;
        let mut is_own = false;
        each_change(&overlay, &logged_ranges(self.id()), &mut |change| {
            is_own |= own.get(change.key).is_some();
            Ok(())
        })?;
        if !is_own {
            return Ok(None);
        }
        let mut repair = self.report(name, &mut conversion);
        repair.rows = self.report_rows(name, &overlay, mode)?;
        if let RepairMode::Remove(output) = mode {
            candidate_state.conflicts().into_result()?;
            output.sync()?;
            self.put_candidate((candidate_state, basis), overlay, options)?;
        }
        Ok(Some(repair))
    }

    fn put_candidate(
        &self,
        (candidate_state, basis): (CandidateState, Basis),
        repaired: Overlay,
        options: UpgradeOptions<'_>,
    ) -> Result<()> {
        let driver = self.store().driver();
        let mut batch = Batch::new();
        batch.require_all(basis.conditions);
        candidate_state.require(&mut batch);
        let lock_record = self.require_unlocked(&repaired, options.session, &mut batch)?;
        self.require_no_partial_lock(&lock_record, repaired.changes(), options.session)?;
        let running = Overlay::new(driver.snapshot()?);
        self.put_recomputed(
            candidate_state,
            running,
            &repaired,
            basis.last.version,
            &mut batch,
        )?;
        driver.commit(batch)?;
        Ok(())
    }

    fn report(&self, name: &str, conversion: &mut Conversion) -> Repair {
        Repair {
            anchor: name.to_owned(),
            datastore: self.datastore(),
            session: self.session().to_owned(),
            removed: std::mem::take(&mut conversion.dropped),
            converted: std::mem::take(&mut conversion.converted),
            rows: 0,
            version: None,
            violations: Errors::new(),
        }
    }

    /// Passes every changed row to the output, and counts them.
    fn report_rows(&self, name: &str, overlay: &Overlay, mode: &mut RepairMode<'_>) -> Result<u64> {
        let (compiled, mut rows) = (self.compiled(), 0);
        let state = state(overlay.base(), compiled, self);
        each_change(overlay, &logged_ranges(self.id()), &mut |change| {
            if let Some(removed) = self.removed(&state, name, change)? {
                rows += 1;
                if let RepairMode::Remove(output) = mode {
                    output.row(&removed)?;
                }
            }
            Ok(())
        })?;
        Ok(rows)
    }

    /// The state without nonconforming data.
    fn repaired(&self, snapshot: Box<dyn Snapshot + Send>) -> Result<(Overlay, Conversion)> {
        let compiled = self.compiled();
        let nodes = NodeMapping::identity(compiled);
        let read = state(&*snapshot, compiled, self);
        let conversion = convert(read, compiled, &nodes, MismatchPolicy::DropAll)?;
        let mut overlay = Overlay::new(snapshot);
        overlay.apply(&conversion.changes);
        for key in stale_order_rows(&state(&overlay, compiled, self))? {
            overlay.delete(key);
        }
        Ok((overlay, conversion))
    }

    fn put_repaired(
        &self,
        overlay: Overlay,
        conversion: &Conversion,
        options: UpgradeOptions<'_>,
    ) -> Result<u64> {
        let Basis {
            next, conditions, ..
        } = self.basis(overlay.base())?;
        let mut batch = Batch::new();
        batch.require_all(conditions);
        let old = (&**self.compiled(), conversion);
        self.put_converted(overlay, old, next, options, &mut batch)?;
        self.store().driver().commit(batch)?;
        Ok(next.version)
    }

    /// The data that a changed row loses; none if it is a row of the order index.
    fn removed(
        &self,
        state: &TreeState<'_>,
        name: &str,
        change: KeyChange<'_>,
    ) -> Result<Option<Removed>> {
        let Some(old) = change.old else {
            return Ok(None);
        };
        if change.key.first() != Some(&(Subspace::Tree as u8)) {
            return Ok(None);
        }
        Ok(Some(Removed {
            anchor: name.to_owned(),
            datastore: self.datastore(),
            session: self.session().to_owned(),
            path: readable_path(state, change.key),
            values: readable_values(state, change.key, old, change.new)?,
            key: hexadecimal(change.key),
            row: hexadecimal(old),
        }))
    }
}

/// The path of a row, as far as the schema and the dictionary have it.
fn readable_path(state: &TreeState<'_>, key: &[u8]) -> String {
    let readable = || -> Result<Option<InstancePath>> {
        let Some(trail) = state.trail(key)? else {
            return Ok(None);
        };
        state.named_path_of(key, &trail).map(Some)
    };
    match readable() {
        Ok(Some(path)) if path.is_root() => "/".to_owned(),
        Ok(Some(path)) => path.to_instance_identifier(state.schema()),
        _ => readable_names(state, key).unwrap_or_else(|_| String::from("/")),
    }
}

fn readable_names(state: &TreeState<'_>, key: &[u8]) -> Result<String> {
    let mut at = state.tree.prefix(Subspace::Tree).len();
    let (mut parent, mut names) = (None, String::new());
    while at < key.len() {
        let mut rest = &key[at..];
        let id = take_local_id(&mut rest)?;
        let name = node_dictionary::name_of(state.snapshot, &names, id)?;
        names = format!(
            "{names}/{}",
            name.unwrap_or_else(|| format!("(node {})", id.0))
        );
        let Some(node) = state.layout().child(parent, id) else {
            break;
        };
        if skip_entry(state.schema().node(node), &mut rest).is_err() {
            break;
        }
        at = key.len() - rest.len();
        parent = Some(node);
    }
    Ok(names)
}

fn readable_values(
    state: &TreeState<'_>,
    key: &[u8],
    old: &[u8],
    new: Option<&[u8]>,
) -> Result<Vec<(String, String)>> {
    let names = readable_names(state, key)?;
    let kept = new
        .and_then(|new| Fragment::decode(new, 0).ok())
        .unwrap_or_default();
    let Ok(fragment) = Fragment::decode(old, 0) else {
        let entry = take_entry_value(old).map(|value| (String::new(), value.to_string()));
        return Ok(entry.into_iter().collect());
    };
    let mut values = Vec::new();
    for (id, packed) in fragment.leaves {
        if kept.get(id) == Some(&packed) {
            continue;
        }
        let name = node_dictionary::name_of(state.snapshot, &names, id)?;
        let name = name.unwrap_or_else(|| format!("(node {})", id.0));
        let text = match packed {
            Packed::Value(value) => value.to_string(),
            Packed::Any(json) => json.into(),
        };
        values.push((name, text));
    }
    Ok(values)
}

fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}
