//! Registering providers of operational state.

use espalier_yang::InstancePath;

use super::provider::Provider;
use super::registry::Registration;
use crate::error::Result;
use crate::tree::Tree;

impl Tree {
    /// Registers a provider of operational state for the subtree at a path, until the returned registration
    /// is dropped. A list on the path without keys stands for every entry.
    ///
    /// # Errors
    /// `invalid-value` if the path is not in [`Self::schema`].
    pub fn provide(&self, at: InstancePath, provider: Provider) -> Result<Registration> {
        let (registry, anchor) = (self.store().providers(), self.id().anchor);
        registry.register(anchor, self.schema(), at, provider)
    }

    /// The paths of the providers of the anchor.
    pub(in crate::tree) fn provider_paths(&self) -> Vec<InstancePath> {
        let providers = self.store().providers().of(self.id().anchor);
        let paths = providers.iter().filter_map(|one| one.at(self.schema()));
        paths.collect()
    }
}
