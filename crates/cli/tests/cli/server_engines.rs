//! The engines with a server that this build supports and this run provides.

use espalier_testkit::servers::shared_url;

/// A URL of a separate key space in each of them, with a memory policy.
pub fn servers_under(policy: &str) -> Vec<String> {
    let schemes = espalier_drivers::schemes().iter();
    let urls = schemes.filter_map(|scheme| shared_url(scheme.name, policy));
    urls.collect()
}
