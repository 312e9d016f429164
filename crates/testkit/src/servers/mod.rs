//! Real servers for tests: each is started by the test itself on a free port of the loopback
//! interface, in a temporary directory, and is gone when the test process is, however it ends.
//!
//! A server that cannot be started fails the tests that want it. The variable
//! [`SERVERS_VARIABLE`] narrows the set, as in `ESPALIER_TEST_SERVERS=redis,etcd`; what it leaves
//! out says so loudly. A test binary shares one server of a kind among its tests (`shared`), each
//! with names of its own in it; tests that hurt a server `start` one for themselves.

mod etcd;
mod mongo;
mod postgres;
mod process;
mod proxy;
mod redis;
mod replica_set;
mod shared;
mod wanted;

pub use etcd::Etcd;
pub use mongo::Mongo;
pub use postgres::{PASSWORD, Postgres, USER};
pub use process::{Directory, Launch, PATIENCE, Process, Signal, free_port, wait_until};
pub use proxy::Proxy;
pub use redis::Redis;
pub use replica_set::ReplicaSet;
pub use shared::{SHARED, shareable_urls, shared_among, shared_url, steps_on};
pub use wanted::{SERVERS_VARIABLE, is_wanted};
