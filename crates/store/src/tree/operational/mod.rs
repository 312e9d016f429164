//! The operational state datastore (RFC 8342 §5.3): what is in use now, configuration and state.
//!
//! It is never stored as a whole, but read as one from four sources, each over the one before:
//!
//! 1. the running configuration, which is taken to be applied but for what is
//!    [withheld](super::Tree::withhold), and state kept beside it;
//! 2. what was *pushed*: commits to [`Datastore::Operational`](super::Datastore), a stored tree of
//!    its own, whose types and structure are checked as of any other, but no constraints (RFC 8342
//!    §5.3: the operational state may break them);
//! 3. what [`Provider`]s tell when they are asked, which is when a reading has a part in what they
//!    are registered for. A provider that fails, panics or takes too long costs its own part of the
//!    answer, and a [`Warning`].
//!
//! Where two sources have a leaf, the later one has the say. The sources are united while they are
//! scanned: reading one entry costs one entry, and nothing is copied but what providers tell.
//!
//! The key decision: layers are united key by key ([`union`]), not tree by tree. Only entries that
//! are kept in order make keys of one thing differ, and only there is anything translated.
//!
//! Every configuration node has an origin ([`Origin`](espalier_yang::data::Origin)): `intended`
//! where running has the value that is in use, else that of the push or the provider.
//!
//! What sources may contradict each other in is not resolved: two cases of one choice, one of
//! running and one pushed, are both shown.

mod answers;
mod bound;
mod check;
mod cursor;
mod layers;
mod origins;
mod provider;
mod push;
mod reading;
mod registry;
mod union;
mod withheld;
mod workers;

pub use provider::{
    PROVIDER_ANSWERS_MAX, PROVIDER_CALLS_MAX, PROVIDER_TIMEOUT, PROVIDERS_IN_READING_MAX, Provider,
    ProviderError, ProviderRequest, Warning, WarningReason,
};
pub use registry::Registration;
pub use withheld::WITHHELD_MAX;

pub(in crate::tree) use layers::Operational;
pub(crate) use origins::OriginRecord;
pub(in crate::tree) use origins::move_origins;
pub(in crate::tree) use origins::{
    record as record_origins, record_of_all as record_origin_of_all,
};
pub(in crate::tree) use push::rooted;
pub(in crate::tree) use reading::OperationalData;
pub(crate) use registry::Providers;

#[cfg(test)]
mod tests;
