//! The HTTP listener that every HTTP front end shares.
//!
//! HTTP/1.1 and HTTP/2 on one port: in cleartext by HTTP/2 prior knowledge, over TLS by ALPN. Each
//! connection is one task; shutdown lets requests under way finish, up to a limit.

mod limits;
mod serve;
mod tls;

pub use limits::Limits;
pub use serve::serve;
pub use tls::{TlsError, TlsFiles, tls_config};
