//! The servers that this build knows and this run has.

use espalier_testkit::servers::shared_url;

/// A URL of a key space of its own in each of them, under a memory policy.
pub fn servers_under(policy: &str) -> Vec<String> {
    let schemes = espalier_drivers::schemes().iter();
    let urls = schemes.filter_map(|scheme| shared_url(scheme.name, policy));
    urls.collect()
}
