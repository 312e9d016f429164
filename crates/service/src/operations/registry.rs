//! The registered operations.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use espalier_store::Result;
use espalier_yang::{InstancePath, Keys, NodeKind, Schema};
use parking_lot::{Mutex, RwLock};

use super::{Operation, OperationOptions};
use crate::anchor::Anchor;

/// The maximum number of calls of one registered operation at a time. Calls that timed out count until they return.
pub const OPERATION_CALLS_MAX: usize = 64;

/// The operations of all anchors.
#[derive(Default)]
pub struct Operations {
    anchors: RwLock<HashMap<u64, Vec<Arc<Registered>>>>,
}

/// A registered operation.
pub(super) struct Registered {
    pub options: OperationOptions,
    pub operation: Arc<dyn Operation>,
    /// The path, as registered: the schema of the anchor may change.
    pattern: String,
    /// The path in the schema that was used last.
    resolved: Mutex<Option<(Weak<Schema>, Option<InstancePath>)>>,
    calls: AtomicUsize,
}

/// Keeps an operation registered until it is dropped.
#[must_use = "the operation is registered until this is dropped"]
pub struct OperationRegistration {
    operations: Weak<Operations>,
    anchor: u64,
    registered: Arc<Registered>,
}

impl Drop for OperationRegistration {
    fn drop(&mut self) {
        if let Some(operations) = self.operations.upgrade() {
            let mut anchors = operations.anchors.write();
            if let Some(registered) = anchors.get_mut(&self.anchor) {
                registered.retain(|other| !Arc::ptr_eq(other, &self.registered));
                if registered.is_empty() {
                    anchors.remove(&self.anchor);
                }
            }
        }
    }
}

/// A call that counts towards [`OPERATION_CALLS_MAX`] until it is dropped.
pub(super) struct CountedCall(Arc<Registered>);

impl Drop for CountedCall {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Operations {
    /// Registers an operation for an RPC or action of an anchor, by a path as on the command line: a list without keys
    /// stands for every entry.
    ///
    /// # Errors
    /// The path is not in the models, or names no operation.
    pub fn register(
        self: &Arc<Self>,
        anchor: &Anchor,
        pattern: &str,
        options: OperationOptions,
        operation: Arc<dyn Operation>,
    ) -> Result<OperationRegistration> {
        let schema = anchor.schema();
        let path = InstancePath::parse_pattern(schema, pattern)?;
        let kind = path.target().map(|node| &schema.node(node).kind);
        if !matches!(kind, Some(NodeKind::Rpc | NodeKind::Action)) {
            let message = format!("{pattern} names no operation");
            return Err(espalier_store::Error::data(
                espalier_yang::ErrorTag::InvalidValue,
                message,
            ));
        }
        let registered = Arc::new(Registered {
            options,
            operation,
            pattern: pattern.to_owned(),
            resolved: Mutex::new(Some((Arc::downgrade(schema), Some(path)))),
            calls: AtomicUsize::new(0),
        });
        let anchor = anchor.running().anchor_id();
        let mut anchors = self.anchors.write();
        let all = anchors.entry(anchor).or_default();
        let priority = registered.options.priority;
        let at = all.partition_point(|other| other.options.priority >= priority);
        all.insert(at, Arc::clone(&registered));
        Ok(OperationRegistration {
            operations: Arc::downgrade(self),
            anchor,
            registered,
        })
    }

    /// The operations for a path, those of the highest priority first.
    pub(super) fn of(
        &self,
        anchor: u64,
        schema: &Arc<Schema>,
        path: &InstancePath,
    ) -> Vec<Arc<Registered>> {
        let anchors = self.anchors.read();
        let all = anchors.get(&anchor).map_or(&[][..], Vec::as_slice);
        let matching = all.iter().filter(|one| one.is_for(schema, path));
        matching.cloned().collect()
    }

    /// Whether an operation is registered for some instance of a schema node.
    pub(super) fn has(
        &self,
        anchor: u64,
        schema: &Arc<Schema>,
        node: espalier_yang::NodeId,
    ) -> bool {
        let anchors = self.anchors.read();
        let all = anchors.get(&anchor).map_or(&[][..], Vec::as_slice);
        let is_of = |path: &InstancePath| path.target() == Some(node);
        all.iter()
            .any(|one| one.resolved(schema, |path| path.is_some_and(is_of)))
    }
}

impl Registered {
    fn is_for(&self, schema: &Arc<Schema>, path: &InstancePath) -> bool {
        self.resolved(schema, |pattern| {
            pattern.is_some_and(|pattern| covers(pattern, path))
        })
    }

    /// Passes the path in a schema, if that has it.
    fn resolved<T>(
        &self,
        schema: &Arc<Schema>,
        with: impl FnOnce(Option<&InstancePath>) -> T,
    ) -> T {
        let mut resolved = self.resolved.lock();
        let is_known = |(of, _): &(Weak<Schema>, _)| std::ptr::eq(of.as_ptr(), Arc::as_ptr(schema));
        if !resolved.as_ref().is_some_and(is_known) {
            let path = InstancePath::parse_pattern(schema, &self.pattern).ok();
            *resolved = Some((Arc::downgrade(schema), path));
        }
        with(resolved.as_ref().and_then(|(_, path)| path.as_ref()))
    }

    /// Counts a call; `None` if there are too many.
    pub fn begin_call(self: &Arc<Self>) -> Option<CountedCall> {
        let before = self.calls.fetch_add(1, Ordering::AcqRel);
        let counted = CountedCall(Arc::clone(self));
        (before < OPERATION_CALLS_MAX).then_some(counted)
    }
}

/// Whether a path with lists that stand for every entry covers a path.
fn covers(pattern: &InstancePath, path: &InstancePath) -> bool {
    pattern.steps.len() == path.steps.len()
        && pattern.steps.iter().zip(&path.steps).all(|(one, other)| {
            one.node == other.node && (one.keys == Keys::None || one.keys == other.keys)
        })
}
