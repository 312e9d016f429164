//! Front ends: they translate between network requests and store requests.
//!
//! - [`anchors`]: RESTCONF and the routes of the caller, for all anchors of a store.
//! - [`audit`]: the audit log.
//! - [`documents`]: document collections, with the OpenAPI description of their operations.
//! - [`intake`]: receives the whole body of a request before the request is handled.
//! - [`netconf`]: NETCONF (RFC 6241), the server; [`netconf_client`]: a client, for the servers of any vendor.
//! - [`restconf`]: RESTCONF (RFC 8040) for the trees of anchors.
//! - [`server`]: the HTTP listener that all HTTP front ends share: HTTP/1.1, HTTP/2, TLS, limits, graceful
//!   shutdown.
//! - [`stats`]: statistics, with the OpenAPI description of their operations.
//! - [`health_and_metrics`]: endpoints for operators.
//! - [`http_status`]: the one table between errors and HTTP statuses; [`http_error`]: error responses.
//! - [`request_session`]: the session of an HTTP request; [`json`]: its query, and a response as JSON.
//!
//! The key decision: a front end of data trees holds an [`espalier_service::SessionDatastore`] and nothing below it, so
//! every front end has the same sessions, access rules and commit path.

pub mod anchors;
mod api;
pub mod audit;
pub mod documents;
mod early_error;
pub mod health_and_metrics;
pub mod http_error;
pub mod http_status;
pub mod intake;
pub mod json;
pub mod netconf;
pub mod netconf_client;
pub mod request_session;
pub mod restconf;
pub mod server;
pub mod stats;
mod stream_slots;
mod subscription_read;
mod xml_errors;
mod xml_text;
