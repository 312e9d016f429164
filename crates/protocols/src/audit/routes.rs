//! The router of the audit log.

use std::sync::Arc;

use axum::Router;
use espalier_service::Service;
use espalier_service::access::Resource;

use super::operations::Call;
use super::{openapi, operations};
use crate::api;
use crate::intake::Intake;

/// The routes: `/audit` and everything below it, and the OpenAPI description.
pub fn router(service: Service, intake: Intake) -> Router {
    let (service, operations) = (Arc::new(service), operations::all());
    api::router(service, &openapi::api(), operations, audit_log, intake)
}

fn audit_log<'c>(_: &'c Call<'_>) -> Option<Resource<'c>> {
    Some(Resource::AuditLog)
}
