//! Calls the providers selected by a read, and layers their data.

use std::sync::Arc;
use std::time::Instant;

use espalier_yang::data::DataTree;

use espalier_yang::{Errors, InstancePath, Schema};

use super::check::{check_nodes, check_registered_path};
use super::layers::{EmptySnapshot, ProvidedSnapshot};
use super::provider::{PROVIDERS_PER_READ_MAX, ProviderRequest, Warning, WarningReason};
use super::registry::{CallResult, Providers, RegisteredProvider};
use crate::clock::Timestamp;
use crate::compiled_schema_set::Compiled;
use crate::error::Result;
use crate::keys::TreeId;
use crate::overlay::Overlay;
use crate::tree::edit::{Edit, EditApplier, TouchScope};
use crate::tree::operational::ProviderReach;
use crate::tree::read::Sources;

/// The context of provider calls for one read.
pub(super) struct ProviderCalls<'a> {
    pub registry: &'a Providers,
    pub compiled: &'a Compiled,
    pub tree: TreeId,
    pub schema: &'a Arc<Schema>,
    pub now: Timestamp,
}

/// The data of one provider, as keys and values.
pub(super) struct ProvidedLayer {
    registered: Arc<RegisteredProvider>,
    data: Overlay,
}

/// A started call of a provider.
struct StartedCall {
    registered: Arc<RegisteredProvider>,
    at: InstancePath,
    path: InstancePath,
    result: CallResult,
}

impl ProviderCalls<'_> {
    /// Calls every provider whose data is read, all in parallel, and waits for each up to its timeout.
    pub fn call_all(
        &self,
        reach: &ProviderReach<'_>,
        warnings: &mut Vec<Warning>,
    ) -> Result<Vec<ProvidedLayer>> {
        let begun = Instant::now();
        let mut started = Vec::new();
        for registered in self.registry.of(self.tree.anchor) {
            if let Some(call) = self.start_call(registered, reach, warnings) {
                started.push(call);
            }
        }
        let mut layers = Vec::new();
        for call in started {
            let registered = Arc::clone(&call.registered);
            let path = call.path.clone();
            let data = match layers.len() < PROVIDERS_PER_READ_MAX {
                true => self.wait_for(call, begun)?,
                false => Err(WarningReason::TooMany),
            };
            match data {
                Ok(data) => layers.push(ProvidedLayer { registered, data }),
                Err(reason) => warnings.push(self.warning(&registered, &path, reason)),
            }
        }
        Ok(layers)
    }

    fn warning(
        &self,
        registered: &RegisteredProvider,
        path: &InstancePath,
        reason: WarningReason,
    ) -> Warning {
        let warning = Warning {
            provider: registered.provider.name.clone(),
            path: path.to_instance_identifier(&self.compiled.schema),
            reason,
        };
        tracing::warn!(provider = %warning.provider, path = %warning.path, "{warning}");
        warning
    }

    fn start_call(
        &self,
        registered: Arc<RegisteredProvider>,
        reach: &ProviderReach<'_>,
        warnings: &mut Vec<Warning>,
    ) -> Option<StartedCall> {
        let Some(at) = registered.at(self.schema) else {
            let unknown = InstancePath::root();
            warnings.push(self.warning(&registered, &unknown, WarningReason::NotInSchema));
            return None;
        };
        let path = reach.path_within(self.compiled, &at)?;
        let request = ProviderRequest {
            schema: Arc::clone(self.schema),
            path: path.clone(),
        };
        let result = registered.call(self.registry.workers(), request, self.now);
        Some(StartedCall {
            registered,
            at,
            path,
            result,
        })
    }

    /// Waits for a call and converts its data.
    fn wait_for(
        &self,
        started: StartedCall,
        begun: Instant,
    ) -> Result<std::result::Result<Overlay, WarningReason>> {
        let StartedCall {
            registered,
            at,
            path,
            result,
        } = started;
        let timeout = registered.provider.timeout;
        let tree = match result {
            CallResult::Failed(reason) => return Ok(Err(reason)),
            CallResult::Cached(tree) => tree,
            CallResult::Pending(receiver) => {
                let left = timeout.saturating_sub(begun.elapsed());
                let tree = match receiver.recv_timeout(left) {
                    Ok(Ok(tree)) => Arc::new(tree),
                    Ok(Err(reason)) => return Ok(Err(reason)),
                    Err(_) => return Ok(Err(WarningReason::TimedOut(timeout))),
                };
                registered.store(path, self.now, &tree);
                tree
            }
        };
        let checked = check_nodes(self.schema, &tree.nodes);
        if let Err(error) =
            checked.and_then(|()| check_registered_path(self.schema, &tree.nodes, &at))
        {
            return Ok(Err(WarningReason::Invalid(error.into())));
        }
        self.to_overlay(tree)
    }

    /// The keys and values of a provider's data.
    fn to_overlay(
        &self,
        tree: Arc<DataTree>,
    ) -> Result<std::result::Result<Overlay, WarningReason>> {
        let mut overlay = Overlay::new(Box::new(EmptySnapshot));
        let applier = EditApplier::new(&mut overlay, self.compiled, self.tree);
        let mut applier = applier.with_touch_scope(TouchScope::DatastoreOnly);
        // The edit consumes the tree, which may be cached for later reads.
        let tree = Arc::try_unwrap(tree).unwrap_or_else(|shared| DataTree::clone(&shared));
        applier.edit(&Edit::merge(InstancePath::root(), tree))?;
        let errors: Errors = applier.errors;
        Ok(match errors.is_empty() {
            true => Ok(overlay),
            false => Err(WarningReason::Invalid(errors)),
        })
    }

    /// Calls `then` with all data layered over `below`.
    pub fn with_layers(
        &self,
        below: &dyn Sources,
        layers: &[ProvidedLayer],
        number: usize,
        then: &mut dyn FnMut(&dyn Sources) -> Result<()>,
    ) -> Result<()> {
        let Some((first, rest)) = layers.split_first() else {
            return then(below);
        };
        let provided = ProvidedSnapshot {
            compiled: self.compiled,
            below,
            data: &first.data,
            tree: self.tree,
            number,
            origin: first.registered.provider.origin,
        };
        self.with_layers(&provided, rest, number + 1, then)
    }
}
