//! The conformance suite on three etcd servers that the tests start.
#![cfg(feature = "etcd")]

use espalier_testkit::servers::Etcd;

mod cluster {
    use super::Etcd;

    espalier_testkit::conformance!({
        let Some(etcd) = Etcd::shared() else { return };
        let url = etcd.url("");
        move || espalier_drivers::open(&url).expect("the servers are there")
    });
}
