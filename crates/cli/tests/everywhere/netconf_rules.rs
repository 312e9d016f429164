//! What NETCONF cannot express, and the forms that it prescribes.

use espalier_testkit::everywhere::{FrontEnd, Limit, Operation, Outcome, ReportedError, Request};
use serde_json::{Value as Json, json};

use crate::events;
use crate::netconf::LIMITS;

/// The limits and prescribed forms, without a server.
pub struct Rules;

impl FrontEnd for Rules {
    fn run(&mut self, _: &Request) -> Outcome {
        unreachable!("the rules run nothing")
    }

    fn limits(&self) -> &'static [Limit] {
        &LIMITS
    }

    /// A change is only `ok` (RFC 6241 §4.4).
    fn expected(&self, request: &Request, reference: &Outcome) -> Outcome {
        let has_result = matches!(
            request.operation,
            Operation::Read(_)
                | Operation::Invoke { .. }
                | Operation::Receive(_)
                | Operation::Lock { .. }
        );
        match reference {
            Outcome::Success(_) if !has_result => Outcome::Success(Json::Null),
            Outcome::Failure(errors) => {
                let errors = errors
                    .iter()
                    .map(|error| prescribed(&request.operation, error));
                Outcome::Failure(errors.collect())
            }
            other => other.clone(),
        }
    }
}

/// An error in the form that NETCONF prescribes.
fn prescribed(operation: &Operation, error: &ReportedError) -> ReportedError {
    let message = &*error.message;
    match operation {
        // An expression selects no node that does not exist, or is hidden (RFC 5717 §2.4.1).
        Operation::Lock { paths, .. }
            if !paths.is_empty()
                && ["access-denied", "data-missing", "unknown-element"].contains(&&*error.tag) =>
        {
            let app_tag = Some("no-matches");
            let message = "the expressions select no node";
            in_protocol("operation-failed", app_tag, message, Json::Null)
        }
        // RFC 6241 §7.4.
        Operation::DeleteDatastore { datastore } if error.tag == "operation-not-supported" => {
            let info = json!({"bad-element": datastore});
            in_protocol("invalid-value", None, message, info)
        }
        // RFC 8526 §3.1.2: such a datastore is no valid value of the parameter.
        operation
            if error.tag == "operation-not-supported" && is_edit_data(operation)
                || message.starts_with("there is no datastore") =>
        {
            let info = json!({"bad-element": "datastore"});
            in_protocol("invalid-value", None, message, info)
        }
        // RFC 6241 appendix A: a parameter, and no node of the datastore, is missing.
        Operation::Invoke {
            path: "/ietf-netconf:validate",
            ..
        } if error.tag == "data-missing" => {
            let message = "“source” of validate is missing";
            in_protocol(
                "missing-element",
                None,
                message,
                json!({"bad-element": "source"}),
            )
        }
        Operation::Receive(receive) if !events::is_established(receive) => {
            prescribed_of_receive(error)
        }
        _ => error.clone(),
    }
}

/// An error of `create-subscription` (RFC 5277 §2.1.1).
fn prescribed_of_receive(error: &ReportedError) -> ReportedError {
    let wrong =
        |tag, message, element| in_protocol(tag, None, message, json!({"bad-element": element}));
    match &*error.message {
        "the start time is in the future" => {
            wrong("bad-element", "“startTime” is in the future", "startTime")
        }
        "the stop time is before the start time" => wrong(
            "bad-element",
            "“stopTime” is before “startTime”",
            "stopTime",
        ),
        "the stop time is in the past: without a start time, no events are replayed" => wrong(
            "missing-element",
            "“stopTime” requires “startTime”",
            "startTime",
        ),
        message if message.starts_with("there is no event stream") => {
            wrong("invalid-value", message, "stream")
        }
        _ => error.clone(),
    }
}

/// An error of the protocol.
fn in_protocol(tag: &str, app_tag: Option<&str>, message: &str, info: Json) -> ReportedError {
    ReportedError {
        kind: "protocol".to_owned(),
        tag: tag.to_owned(),
        app_tag: app_tag.map(str::to_owned),
        message: message.to_owned(),
        info,
        ..ReportedError::default()
    }
}

/// Whether an operation is an edit of a datastore that only `edit-data` has.
fn is_edit_data(operation: &Operation) -> bool {
    match operation {
        Operation::Edit { datastore, .. }
        | Operation::Create { datastore, .. }
        | Operation::Replace { datastore, .. }
        | Operation::Merge { datastore, .. }
        | Operation::Delete { datastore, .. }
        | Operation::Set { datastore, .. } => !["running", "candidate"].contains(datastore),
        _ => false,
    }
}
