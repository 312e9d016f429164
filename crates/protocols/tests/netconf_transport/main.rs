//! The transports of NETCONF, with the clients that people use: OpenSSH, `openssl s_client`, and byte streams of our own.

mod call_home;
mod invalid_logins;
mod local;
mod openssh;
mod pki;
mod session;
mod ssh_client;
mod ssh_hostile;
mod ssh_limits;
mod ssh_login;
mod ssh_sessions;
mod support;
mod tls;
