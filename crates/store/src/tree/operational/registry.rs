//! The registry of providers.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use espalier_yang::data::DataTree;
use espalier_yang::{InstancePath, Schema, Step};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;

use super::check::check_path;
use super::provider::{
    PROVIDER_CACHE_MAX, PROVIDER_CALLS_MAX, Provider, ProviderRequest, WarningReason,
};
use super::workers::Workers;
use crate::clock::Timestamp;
use crate::error::Result;

/// The providers of all anchors.
#[derive(Default)]
pub(crate) struct Providers {
    anchors: RwLock<FxHashMap<u64, Vec<Arc<RegisteredProvider>>>>,
    workers: Arc<Workers>,
}

/// A provider with its registered path.
pub(super) struct RegisteredProvider {
    pub provider: Provider,
    at: InstancePath,
    /// The schema of `at`, and the names of its nodes for lookup in another schema.
    schema: Arc<Schema>,
    names: Vec<(Box<str>, Box<str>)>,
    calls: AtomicUsize,
    cache: Mutex<HashMap<InstancePath, (Timestamp, Arc<DataTree>)>>,
}

/// Keeps a provider registered until it is dropped.
#[must_use = "the provider is registered until this is dropped"]
pub struct Registration {
    registry: Weak<Providers>,
    anchor: u64,
    registered: Arc<RegisteredProvider>,
}

impl Registration {
    /// Clears the cached data, so that the next read calls the provider.
    pub fn invalidate(&self) {
        self.registered.cache.lock().clear();
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(registry) = self.registry.upgrade() {
            let mut anchors = registry.anchors.write();
            if let Some(providers) = anchors.get_mut(&self.anchor) {
                providers.retain(|other| !Arc::ptr_eq(other, &self.registered));
            }
        }
    }
}

impl Providers {
    /// Registers a provider for a path of an anchor.
    pub fn register(
        self: &Arc<Self>,
        anchor: u64,
        schema: &Arc<Schema>,
        at: InstancePath,
        provider: Provider,
    ) -> Result<Registration> {
        check_path(schema, &at)?;
        let name = |step: &Step| {
            let node = schema.node(step.node);
            (schema.module(node.module).name.clone(), node.name.clone())
        };
        let registered = Arc::new(RegisteredProvider {
            provider,
            names: at.steps.iter().map(name).collect(),
            at,
            schema: Arc::clone(schema),
            calls: AtomicUsize::new(0),
            cache: Mutex::default(),
        });
        let mut anchors = self.anchors.write();
        anchors
            .entry(anchor)
            .or_default()
            .push(Arc::clone(&registered));
        Ok(Registration {
            registry: Arc::downgrade(self),
            anchor,
            registered,
        })
    }

    /// The threads that call the providers.
    pub(super) fn workers(&self) -> &Arc<Workers> {
        &self.workers
    }

    /// The providers of an anchor, in the order of their registration.
    pub(super) fn of(&self, anchor: u64) -> Vec<Arc<RegisteredProvider>> {
        let anchors = self.anchors.read();
        anchors.get(&anchor).cloned().unwrap_or_default()
    }
}

/// The data of a provider, cached or pending.
pub(super) enum CallResult {
    Cached(Arc<DataTree>),
    Pending(Receiver<std::result::Result<DataTree, WarningReason>>),
    Failed(WarningReason),
}

impl RegisteredProvider {
    /// The registered path in a schema; none if the schema does not have it.
    pub fn at(&self, schema: &Arc<Schema>) -> Option<InstancePath> {
        if Arc::ptr_eq(schema, &self.schema) {
            return Some(self.at.clone());
        }
        let mut path = InstancePath::root();
        for ((module, name), step) in self.names.iter().zip(&self.at.steps) {
            let module = schema.module_by_name(module)?;
            let node = schema.child(path.target(), module, name)?;
            path = path.child(node, step.keys.clone());
        }
        Some(path)
    }

    /// Starts a call without waiting.
    pub fn call(
        self: &Arc<Self>,
        workers: &Arc<Workers>,
        request: ProviderRequest,
        now: Timestamp,
    ) -> CallResult {
        if let Some(cached) = self.cached(&request.path, now) {
            return CallResult::Cached(cached);
        }
        if self.calls.fetch_add(1, Ordering::AcqRel) >= PROVIDER_CALLS_MAX {
            self.calls.fetch_sub(1, Ordering::AcqRel);
            return CallResult::Failed(WarningReason::Busy);
        }
        let (sender, receiver) = sync_channel(1);
        let this = Arc::clone(self);
        let run = move || {
            let result = catch_unwind(AssertUnwindSafe(|| (this.provider.call)(&request)));
            this.calls.fetch_sub(1, Ordering::AcqRel);
            let result = match result {
                Ok(Ok(tree)) => Ok(tree),
                Ok(Err(error)) => Err(WarningReason::Failed(error.to_string())),
                Err(panic) => Err(WarningReason::Panicked(message_of(&*panic))),
            };
            // After a timeout there is no receiver.
            let _ = sender.send(result);
        };
        match workers.run(run) {
            Ok(()) => CallResult::Pending(receiver),
            Err(error) => {
                self.calls.fetch_sub(1, Ordering::AcqRel);
                CallResult::Failed(WarningReason::Failed(error.to_string()))
            }
        }
    }

    fn cached(&self, path: &InstancePath, now: Timestamp) -> Option<Arc<DataTree>> {
        let cache = self.cache.lock();
        let (since, tree) = cache.get(path)?;
        let age = now.0.saturating_sub(since.0);
        (Duration::from_millis(age) < self.provider.valid_for).then(|| Arc::clone(tree))
    }

    /// Caches data while it is valid.
    pub fn store(&self, path: InstancePath, now: Timestamp, tree: &Arc<DataTree>) {
        if self.provider.valid_for.is_zero() {
            return;
        }
        let mut cache = self.cache.lock();
        let valid_ms = self.provider.valid_for.as_millis();
        cache.retain(|_, (since, _)| u128::from(now.0.saturating_sub(since.0)) < valid_ms);
        if cache.len() < PROVIDER_CACHE_MAX {
            cache.insert(path, (now, Arc::clone(tree)));
        }
    }
}

fn message_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "without a message".to_owned())
}
