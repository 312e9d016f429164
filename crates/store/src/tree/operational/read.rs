//! Reads the operational state datastore: stored data and the data of providers.

use parking_lot::Mutex;

use super::layers::Operational;
use super::provider::Warning;
use super::provider_calls::ProviderCalls;
use super::provider_reach::ProviderReach;
use crate::error::Result;
use crate::store::Store;
use crate::tree::locate::TreeState;
use crate::tree::read::Sources;

/// The first layer number of providers; pushed data is the layer before.
const FIRST_PROVIDER: usize = 2;

/// The operational state at one point in time; providers return their state at the time of the call.
pub(in crate::tree) struct OperationalData {
    operational: Operational,
    store: Store,
    warnings: Mutex<Vec<Warning>>,
}

impl OperationalData {
    pub fn new(operational: Operational, store: Store) -> Self {
        Self {
            operational,
            store,
            warnings: Mutex::default(),
        }
    }

    /// The stored data.
    pub fn operational(&self) -> &Operational {
        &self.operational
    }

    /// Returns the stored data.
    pub fn into_operational(self) -> Operational {
        self.operational
    }

    /// Removes and returns the warnings of reads since the last call.
    pub fn take_warnings(&self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings.lock())
    }

    /// Calls `then` with the stored data and the data of providers that is read; `stored` is the state
    /// without providers.
    pub fn with_providers(
        &self,
        stored: TreeState<'_>,
        reach: &ProviderReach<'_>,
        then: &mut dyn FnMut(TreeState<'_>, &dyn Sources) -> Result<()>,
    ) -> Result<()> {
        let calls = ProviderCalls {
            registry: self.store.providers(),
            compiled: stored.compiled,
            tree: stored.tree,
            schema: self.operational.schema(),
            now: self.store.now(),
        };
        let mut warnings = Vec::new();
        let layers = calls.call_all(reach, &mut warnings)?;
        self.warnings.lock().extend(warnings);
        calls.with_layers(&self.operational, &layers, FIRST_PROVIDER, &mut |sources| {
            let state = TreeState {
                snapshot: sources.as_snapshot(),
                ..stored
            };
            then(state, sources)
        })
    }
}
