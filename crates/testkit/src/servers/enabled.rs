//! The set of servers that a test run uses.

use std::env;
use std::io::Write;

/// A list of servers, such as `redis,etcd`: tests of other servers are skipped. If it is not set, all
/// servers are used.
pub const SERVERS_VARIABLE: &str = "ESPALIER_TEST_SERVERS";

/// Whether this run uses a server. If not, a message is printed, bypassing the capture of the test harness.
pub fn is_wanted(server: &str) -> bool {
    let Ok(list) = env::var(SERVERS_VARIABLE) else {
        return true;
    };
    let is_enabled = list.split(',').any(|name| name.trim() == server);
    if !is_enabled {
        let warning =
            format!("SKIPPED: a test that requires {server}: {SERVERS_VARIABLE}={list}\n");
        // Standard error may be closed, which is fine.
        let _ = std::io::stderr().write_all(warning.as_bytes());
    }
    is_enabled
}
