//! Real servers for tests. Each is started by the test on a free port of the loopback interface, in a
//! temporary directory, and ends with the test process, however it ends.
//!
//! A server that cannot be started fails the tests that use it. The variable [`SERVERS_VARIABLE`] limits
//! the set, as in `ESPALIER_TEST_SERVERS=redis,etcd`; excluded servers are printed. A test binary shares
//! one server of each kind among its tests (`shared`), each with its own names; tests that disturb a server
//! `start` their own.

mod enabled;
mod etcd;
mod mongo;
mod ports;
mod postgres;
mod process;
mod proxy;
mod redis;
mod replica_set;
mod shared;

pub use enabled::{SERVERS_VARIABLE, is_wanted};
pub use etcd::Etcd;
pub use mongo::Mongo;
pub use ports::free_port;
pub use postgres::{PASSWORD, Postgres, USER};
pub use process::{Directory, Launch, PATIENCE, Process, Signal, wait_until};
pub use proxy::Proxy;
pub use redis::Redis;
pub use replica_set::ReplicaSet;
pub use shared::{SHARED_DRIVERS, shareable_urls, shared_among, shared_url, steps_on};
