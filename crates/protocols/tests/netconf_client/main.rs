//! The NETCONF client, against servers that send bytes of the test's choosing.

mod large;
mod notifications;
mod peer;
mod replies;
mod wrong_servers;
