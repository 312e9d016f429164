//! `edit-config`, `edit-data`, `delete-config`, `validate`.

use espalier_service::{ChangeNote, SessionDatastore};
use espalier_store::{Datastore, Edit, ErrorOption, TestOption};
use espalier_yang::InstancePath;
use espalier_yang::data::Operation;

use super::configuration::{Configuration, Source};
use super::output::{Output, Result};
use super::parameters::{
    NMDA_NAMESPACE, Parameters, identified_datastore, invalid, named_datastore,
};
use crate::netconf::message::Element;
use crate::netconf::url::UrlAccess;

/// Commits of these operations have no comment.
pub(super) const NOTE: ChangeNote<'static> = ChangeNote {
    author: "",
    comment: "",
};

/// `edit-config` (RFC 6241 §7.2).
pub(super) fn edit_config(
    running: &SessionDatastore,
    urls: &UrlAccess,
    operation: &Element<'_>,
) -> Result<Output> {
    let names = [
        "target",
        "default-operation",
        "test-option",
        "error-option",
        "config",
        "url",
    ];
    let parameters = Parameters::of(operation, &names)?;
    let place = parameters.place("target")?;
    let target = named_datastore(running, &place)?;
    if target.datastore() == Datastore::Startup {
        return Err(invalid("“startup” cannot be edited", "startup").into());
    }
    let options = ["test-then-set", "set", "test-only"];
    let test = match parameters.choice("test-option", &options)? {
        2 => TestOption::TestOnly,
        1 => TestOption::Set,
        _ => default_test(target.datastore()),
    };
    // The document is one edit: whatever the option is, all of it is applied or nothing.
    let options = ["stop-on-error", "continue-on-error", "rollback-on-error"];
    parameters.choice("error-option", &options)?;
    if parameters.get("url").is_some() {
        target.require("ietf-netconf", "edit-config")?;
    }
    edit(&target, urls, &parameters, test)
}

/// `edit-data` (RFC 8526 §3.1.2).
pub(super) fn edit_data(
    running: &SessionDatastore,
    urls: &UrlAccess,
    operation: &Element<'_>,
) -> Result<Output> {
    let names = ["datastore", "default-operation", "config", "url"];
    let parameters = Parameters::of(operation, &names)?;
    let target = parameters.identified_datastore(running)?;
    let rejected = match target.datastore() {
        Datastore::Operational => Some("operational is read-only"),
        datastore => datastore.edits_rejected(),
    };
    if let Some(reason) = rejected {
        return Err(invalid(reason, "datastore").into());
    }
    let test = default_test(target.datastore());
    if parameters.get("url").is_some() {
        target.require("ietf-netconf-nmda", "edit-data")?;
    }
    edit(&target, urls, &parameters, test)
}

/// Constraints of a candidate are validated at the commit: clients build invalid states on the way there.
fn default_test(datastore: Datastore) -> TestOption {
    match datastore.is_candidate() {
        true => TestOption::Set,
        false => TestOption::TestThenSet,
    }
}

fn edit(
    target: &SessionDatastore,
    urls: &UrlAccess,
    parameters: &Parameters<'_>,
    test: TestOption,
) -> Result<Output> {
    let operations = ["merge", "replace", "none"];
    let operation = match parameters.choice("default-operation", &operations)? {
        1 => Operation::Replace,
        2 => Operation::None,
        _ => Operation::Merge,
    };
    let tree = Configuration::of(parameters)?.tree(target.schema(), urls)?;
    let edit = match operation {
        // The whole datastore (RFC 6241 §7.2).
        Operation::Replace => Edit::replace_all(tree),
        operation => Edit::apply(InstancePath::root(), tree, operation),
    };
    target.edit_config(&[edit], test, ErrorOption::RollbackOnError, NOTE)?;
    Ok(Output::Ok)
}

/// `delete-config` (RFC 6241 §7.4).
pub(super) fn delete_config(
    running: &SessionDatastore,
    urls: &UrlAccess,
    operation: &Element<'_>,
) -> Result<Output> {
    let parameters = Parameters::of(operation, &["target"])?;
    let place = parameters.place("target")?;
    if place.name == "url" {
        running.require("ietf-netconf", "delete-config")?;
        urls.delete(&place.text()?)?;
        return Ok(Output::Ok);
    }
    let target = named_datastore(running, &place)?;
    if target.datastore() != Datastore::Startup {
        let name = target.datastore().name();
        return Err(invalid(format!("{name} cannot be deleted; only startup can"), name).into());
    }
    target.delete(NOTE)?;
    Ok(Output::Ok)
}

/// `validate` (RFC 6241 §8.6.4.1). The source may be any datastore (RFC 8526 §3.2).
pub(super) fn validate(
    running: &SessionDatastore,
    urls: &UrlAccess,
    operation: &Element<'_>,
) -> Result<Output> {
    let parameters = Parameters::of(operation, &["source"])?;
    let place = parameters.place("source")?;
    match Source::of(&place) {
        Source::Datastore if place.is(NMDA_NAMESPACE, "datastore") => {
            identified_datastore(running, &place)?.validate()?;
        }
        Source::Datastore => named_datastore(running, &place)?.validate()?,
        Source::Configuration(source) => {
            running.require("ietf-netconf", "validate")?;
            running.validate_content(source.tree(running.schema(), urls)?)?;
        }
    }
    Ok(Output::Ok)
}
