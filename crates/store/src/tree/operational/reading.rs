//! Reading the operational state datastore: what is stored, and what providers tell.

use espalier_yang::InstancePath;
use parking_lot::Mutex;

use super::answers::Asking;
use super::layers::Operational;
use super::provider::Warning;
use crate::error::Result;
use crate::store::Store;
use crate::tree::locate::State;
use crate::tree::read::Sources;
use crate::tree::selection::Selection;

/// The number of the first layer that a provider may have; what was pushed is before it.
const FIRST_PROVIDER: usize = 2;

/// The operational state as of one moment; providers tell as of when they are asked.
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

    /// What is stored.
    pub fn operational(&self) -> &Operational {
        &self.operational
    }

    /// The same, to be kept.
    pub fn into_operational(self) -> Operational {
        self.operational
    }

    /// What readings had to do without, since this was last called.
    pub fn take_warnings(&self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings.lock())
    }

    /// Calls `then` with what is stored and what the providers tell that have a part in a
    /// selection; `stored` is the state without them.
    pub fn with_providers(
        &self,
        stored: State<'_>,
        path: &InstancePath,
        selection: &Selection,
        then: &mut dyn FnMut(State<'_>, &dyn Sources) -> Result<()>,
    ) -> Result<()> {
        let asking = Asking {
            registry: self.store.providers(),
            compiled: stored.compiled,
            tree: stored.tree,
            schema: self.operational.schema(),
            now: self.store.now(),
        };
        let mut warnings = Vec::new();
        let layers = asking.ask(path, selection, &mut warnings)?;
        self.warnings.lock().extend(warnings);
        asking.over(&self.operational, &layers, FIRST_PROVIDER, &mut |sources| {
            let state = State {
                snapshot: sources.as_snapshot(),
                ..stored
            };
            then(state, sources)
        })
    }
}
