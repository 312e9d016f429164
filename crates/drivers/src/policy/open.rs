//! An engine under the policy that options name.

use std::sync::Arc;

use espalier_keyspace::{Driver, Policy, Result};

use super::options::Options;
use super::{cached, indexed, ram, recent};
use crate::url::{Url, unknown_option};

/// An engine that is open already under a memory policy, with options as they stand in a URL:
/// `policy=cached&staleness_ms=500`.
///
/// # Errors
/// An option that no policy has, or a value that it may not have; and whatever keeps the engine
/// from being read.
pub fn under_policy(engine: Arc<dyn Driver>, options: &str) -> Result<Arc<dyn Driver>> {
    let url = Url::of_options(engine.name(), options);
    let (options, rest) = Options::take(&url)?;
    if rest.is_empty() {
        return over(engine, &options);
    }
    let known = "policy, read, staleness_ms, cache_bytes and value_bytes";
    let name = rest.split_once('=').map_or(&*rest, |(name, _)| name);
    unknown_option("policy", name, known)
}

/// Opens what a URL names under the policy that it names, by a function that knows nothing of
/// policies.
pub(crate) fn over_url(
    url: &Url<'_>,
    open: fn(&Url<'_>) -> Result<Arc<dyn Driver>>,
) -> Result<Arc<dyn Driver>> {
    let (options, rest) = Options::take(url)?;
    over(open(&url.with_options(&rest))?, &options)
}

/// Asks about what a URL names, whatever the policy, by a function that knows nothing of policies.
pub(crate) fn ask_url<T>(url: &Url<'_>, ask: fn(&Url<'_>) -> Result<T>) -> Result<T> {
    let (_, rest) = Options::take(url)?;
    ask(&url.with_options(&rest))
}

fn over(engine: Arc<dyn Driver>, options: &Options) -> Result<Arc<dyn Driver>> {
    match options.policy {
        Policy::Uncached => Ok(engine),
        Policy::Ram => ram::open(&*engine),
        Policy::Cached => cached::open(engine, options),
        Policy::Recent => recent::open(engine, options),
        Policy::Indexed => indexed::open(engine, options),
    }
}
