//! The operational state datastore (RFC 8342 §5.3): the configuration and state in use.
//!
//! It is not stored as a whole, but merged on reads from these sources, each over the one before:
//!
//! 1. the running configuration, which is assumed to be applied except for what is
//!    [unapplied](super::Tree::mark_unapplied), and state stored next to it;
//! 2. *pushed* data: commits to [`Datastore::Operational`](super::Datastore), a stored tree of its own,
//!    whose types and structure are checked as usual, but not its constraints (RFC 8342 §5.3: the
//!    operational state may violate them);
//! 3. the data of [`Provider`]s, which are called when a read selects data of their paths. If a provider
//!    fails, panics or times out, only its own data is missing, and a [`Warning`] is reported.
//!
//! If several sources provide a leaf, the last one in this list wins. The sources are merged during the
//! scan: reading one entry costs one entry, and only the data of providers is copied.
//!
//! The key decision: layers are merged key by key ([`union`]), not tree by tree. Keys of the same node
//! differ only in lists with a stored order, so only these are translated.
//!
//! Every configuration node has an origin ([`Origin`](espalier_yang::data::Origin)): `intended` if running
//! has the value in use, else that of the push or the provider.
//!
//! Contradictions between sources are not resolved: of two cases of one choice, one in running and one
//! pushed, both are reported.

mod check;
mod cursor;
mod layers;
mod origins;
mod provide;
mod provider;
mod provider_calls;
mod provider_reach;
mod push;
mod read;
mod registry;
mod unapplied;
mod union;
mod union_range;
mod workers;

pub use provider::{
    PROVIDER_CACHE_MAX, PROVIDER_CALLS_MAX, PROVIDER_TIMEOUT, PROVIDERS_PER_READ_MAX, Provider,
    ProviderError, ProviderRequest, Warning, WarningReason,
};
pub use registry::Registration;
pub use unapplied::UNAPPLIED_PATHS_MAX;

pub(in crate::tree) use layers::Operational;
pub(crate) use origins::OriginRecord;
pub(in crate::tree) use origins::move_origins;
pub(in crate::tree) use origins::{
    record as record_origins, record_of_all as record_origin_of_all,
};
pub(in crate::tree) use provider_reach::ProviderReach;
pub(in crate::tree) use push::edits_from_root;
pub(in crate::tree) use read::OperationalData;
pub(crate) use registry::Providers;

#[cfg(test)]
mod tests;
