//! The rules that apply to one user, without a schema.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::nacm::NacmConfig;
use super::user::Caller;

/// The rules for a user, with its groups.
#[derive(Clone, Debug)]
pub(super) struct Restricted {
    pub config: Arc<NacmConfig>,
    /// The groups of the user.
    pub groups: BTreeSet<String>,
}

impl Restricted {
    /// The rules for a user; `None` if no rule applies.
    pub fn of(config: &Arc<NacmConfig>, caller: &Caller) -> Option<Self> {
        let is_exempt = caller.is_recovery || !config.is_enabled;
        (!is_exempt).then(|| Self {
            config: Arc::clone(config),
            groups: config.groups_of(&caller.user, &caller.groups),
        })
    }
}
