//! Which servers a run of the tests is to have.

use std::env;
use std::io::Write;

/// A list of servers, such as `redis,etcd`: the tests of all others are left out. Without it all
/// servers are wanted.
pub const SERVERS_VARIABLE: &str = "ESPALIER_TEST_SERVERS";

/// Whether this run is to have the server of that name. Where not, that is printed, past the
/// capture of the test harness.
pub fn is_wanted(server: &str) -> bool {
    let Ok(list) = env::var(SERVERS_VARIABLE) else {
        return true;
    };
    let wanted = list.split(',').any(|name| name.trim() == server);
    if !wanted {
        let warning = format!("LEFT OUT: a test that needs {server}: {SERVERS_VARIABLE}={list}\n");
        // Nobody may be listening, which is no reason to fail.
        let _ = std::io::stderr().write_all(warning.as_bytes());
    }
    wanted
}
