//! The common part of commands on whole datastores: they perform an operation on the endpoint and print its result.

use crate::endpoint::{self, DatastoreOperation, LockOwner, OperationRequest};
use crate::settings::{Access, OutputOptions, Settings};
use espalier_terminal::output;
use espalier_terminal::{Failure, Result};

/// Performs an operation on the datastore of the settings, or on `default` if they name none.
pub fn run_operation(
    access: &Access,
    output_options: OutputOptions,
    settings: Settings,
    default: &str,
    operation: DatastoreOperation,
) -> Result<()> {
    let settings = Settings::from(access).over(settings);
    let needs_session = matches!(
        operation,
        DatastoreOperation::Lock { .. }
            | DatastoreOperation::Unlock {
                of: LockOwner::Session,
                ..
            }
            | DatastoreOperation::EndSession
    );
    if needs_session && settings.session().is_empty() {
        return Err(
            Failure::usage("a lock belongs to a session, and none is named")
                .hint("add --session NAME (any name), or set ESPALIER_SESSION"),
        );
    }
    let request = OperationRequest {
        datastore: settings.datastore.clone().unwrap_or(default.to_owned()),
        session: settings.session().to_owned(),
        author: settings.author().to_owned(),
        comment: settings.comment.clone().unwrap_or_default(),
        operation,
    };
    // The endpoint is opened on running and the operation names the datastore, so that a store and a server report
    // the same error for a wrong name.
    let endpoint_settings = Settings {
        datastore: None,
        ..settings
    };
    let endpoint = match request.operation {
        DatastoreOperation::Locks | DatastoreOperation::Validate => {
            endpoint::open_existing(&endpoint_settings)?
        }
        _ => endpoint::open(&endpoint_settings)?,
    };
    let outcome = endpoint.perform(&request)?;
    output::print_result(output_options.json, &outcome.value, &outcome.text)
}
