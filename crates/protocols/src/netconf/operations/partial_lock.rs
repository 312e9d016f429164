//! `partial-lock` and `partial-unlock` (RFC 5717).

use std::io::Write;

use espalier_service::SessionDatastore;
use espalier_yang::xpath::Expression;
use espalier_yang::{DataError, ErrorTag, InstancePath};

use super::output::{Output, Result};
use super::parameters::{Parameters, invalid, protocol_error};
use super::subscribe::module_of;
use crate::netconf::message::{Element, Reply};
use crate::xml_errors::put_instance_identifier;

/// The namespace of the operations.
pub(super) const PARTIAL_LOCK_NAMESPACE: &str = "urn:ietf:params:xml:ns:netconf:partial-lock:1.0";

/// Locks the nodes that expressions select now.
pub(super) fn lock<W: Write>(
    running: &SessionDatastore,
    operation: &Element<'_>,
    reply: &mut Reply<W>,
) -> Result<Output> {
    let parameters = Parameters::of(operation, &["select"])?;
    let mut paths: Vec<InstancePath> = Vec::new();
    for select in parameters.all("select") {
        for path in selected(running, select)? {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    parameters.required("select")?;
    if paths.is_empty() {
        let message = "the expressions select no node";
        let error = protocol_error(ErrorTag::OperationFailed, message);
        return Err(error.with_app_tag("no-matches").into());
    }
    let lock = running.partial_lock(&paths)?;
    let schema = running.schema();
    let mut text = format!(
        "<lock-id xmlns=\"{PARTIAL_LOCK_NAMESPACE}\">{}</lock-id>",
        lock.id
    );
    for path in &paths {
        let path = path.to_instance_identifier(schema);
        let name = format!("locked-node xmlns=\"{PARTIAL_LOCK_NAMESPACE}\"");
        put_instance_identifier(&mut text, &name, &path, Some(schema));
    }
    reply.content().write_all(text.as_bytes())?;
    Ok(Output::Written)
}

/// The nodes that an expression selects of what the user can read.
fn selected(running: &SessionDatastore, select: &Element<'_>) -> Result<Vec<InstancePath>> {
    let text = select.text()?;
    let schema = running.schema();
    let parsed = Expression::parse(&text, &|prefix| module_of(&[schema], select, prefix));
    let wrong = |message: String, tag: &'static str| -> DataError {
        invalid(message, "select").with_app_tag(tag)
    };
    let expression = parsed.map_err(|error| {
        let message = format!("“{text}” is no XPath expression: {error}");
        wrong(message, "invalid-lock-specification")
    })?;
    let found = running.view()?.select(&expression).map_err(|error| {
        let message = format!("“{text}” selects no nodes: {error}");
        wrong(message, "not-a-node-set")
    })?;
    Ok(found.into_iter().map(|found| found.path).collect())
}

/// Releases a lock of the session.
pub(super) fn unlock(running: &SessionDatastore, operation: &Element<'_>) -> Result<Output> {
    let parameters = Parameters::of(operation, &["lock-id"])?;
    let text = parameters.required("lock-id")?.text()?;
    let wrong = || invalid(format!("“{text}” is no number of a lock"), "lock-id");
    running.partial_unlock(text.parse().map_err(|_| wrong())?)?;
    Ok(Output::Ok)
}
