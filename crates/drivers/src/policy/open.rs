//! Opens an engine with the policy named by its options.

use std::sync::Arc;

use espalier_keyspace::{Driver, Policy, Result};

use super::options::Options;
use super::{cached, indexed, ram, recent};
use crate::url::{Url, unknown_option};

/// Wraps an open engine in a memory policy. `options` are written as in a URL:
/// `policy=cached&staleness_ms=500`.
///
/// # Errors
/// Unknown options, invalid values, and errors of reading the engine.
pub fn under_policy(engine: Arc<dyn Driver>, options: &str) -> Result<Arc<dyn Driver>> {
    let url = Url::of_options(engine.name(), options);
    let (options, rest) = Options::extract(&url)?;
    if rest.is_empty() {
        return apply_policy(engine, &options);
    }
    let supported = "policy, read, staleness_ms, cache_bytes and value_bytes";
    let name = rest.split_once('=').map_or(&*rest, |(name, _)| name);
    unknown_option("policy", name, supported)
}

/// Opens a URL with the policy that it names. `open` gets the URL without policy options.
pub(crate) fn open_url(
    url: &Url<'_>,
    open: fn(&Url<'_>) -> Result<Arc<dyn Driver>>,
) -> Result<Arc<dyn Driver>> {
    let (options, rest) = Options::extract(url)?;
    apply_policy(open(&url.with_options(&rest))?, &options)
}

/// Queries a URL whatever its policy. `query` gets the URL without policy options.
pub(crate) fn query_url<T>(url: &Url<'_>, query: fn(&Url<'_>) -> Result<T>) -> Result<T> {
    let (_, rest) = Options::extract(url)?;
    query(&url.with_options(&rest))
}

fn apply_policy(engine: Arc<dyn Driver>, options: &Options) -> Result<Arc<dyn Driver>> {
    match options.policy {
        Policy::Uncached => Ok(engine),
        Policy::Ram => ram::open(&*engine),
        Policy::Cached => cached::open(engine, options),
        Policy::Recent => recent::open(engine, options),
        Policy::Indexed => indexed::open(engine, options),
    }
}
