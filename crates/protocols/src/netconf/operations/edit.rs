//! The operations that have data in them: `edit-config`, `edit-data`, `copy-config`, `validate`.

use espalier_service::{ChangeNote, SessionDatastore};
use espalier_store::{Datastore, Edit, Error, ErrorOption, LoadMode, LoadOptions, TestOption};
use espalier_yang::data::{Accept, DataTree, MetadataMode, Operation, ParseOptions, Root};
use espalier_yang::{ErrorTag, InstancePath, Schema};

use super::output::{Output, Result};
use super::parameters::{
    NMDA_NAMESPACE, Parameters, document_tree, identified_datastore, invalid, named_datastore,
    protocol_error,
};
use crate::netconf::message::{BASE_NAMESPACE, Element};

/// Commits of these operations have no comment.
const NOTE: ChangeNote<'static> = ChangeNote {
    author: "",
    comment: "",
};

/// `edit-config` (RFC 6241 §7.2).
pub(super) fn edit_config(running: &SessionDatastore, operation: &Element<'_>) -> Result<Output> {
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
    edit(&target, &parameters, test)
}

/// `edit-data` (RFC 8526 §3.1.2).
pub(super) fn edit_data(running: &SessionDatastore, operation: &Element<'_>) -> Result<Output> {
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
    edit(&target, &parameters, test)
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
    parameters: &Parameters<'_>,
    test: TestOption,
) -> Result<Output> {
    let operations = ["merge", "replace", "none"];
    let operation = match parameters.choice("default-operation", &operations)? {
        1 => Operation::Replace,
        2 => Operation::None,
        _ => Operation::Merge,
    };
    let tree = config_tree(target.schema(), config(parameters)?)?;
    let edit = match operation {
        // The whole datastore (RFC 6241 §7.2).
        Operation::Replace => Edit::replace_all(tree),
        operation => Edit::apply(InstancePath::root(), tree, operation),
    };
    target.edit_config(&[edit], test, ErrorOption::RollbackOnError, NOTE)?;
    Ok(Output::Ok)
}

/// The `config` among the parameters.
fn config<'p, 'm>(parameters: &'p Parameters<'m>) -> Result<&'p Element<'m>> {
    if parameters.get("url").is_some() {
        let message = "“url” is not supported; send the data in “config”";
        let error = protocol_error(ErrorTag::OperationNotSupported, message);
        return Err(error.on_element("url").into());
    }
    parameters.required("config")
}

/// The nodes in a `config` element, with the operations of the nodes.
fn config_tree(schema: &Schema, config: &Element<'_>) -> Result<DataTree> {
    let document = config.renamed(BASE_NAMESPACE, "config", "");
    let options = ParseOptions {
        accept: Accept::Config,
        metadata: MetadataMode::Kept,
        ..ParseOptions::default()
    };
    document_tree(schema, Root::Datastore, &document, &options)
}

/// `delete-config` (RFC 6241 §7.4).
pub(super) fn delete_config(running: &SessionDatastore, operation: &Element<'_>) -> Result<Output> {
    let target = Parameters::of(operation, &["target"])?.datastore(running, "target")?;
    if target.datastore() != Datastore::Startup {
        let name = target.datastore().name();
        return Err(invalid(format!("{name} cannot be deleted; only startup can"), name).into());
    }
    target.delete(NOTE)?;
    Ok(Output::Ok)
}

/// `copy-config` (RFC 6241 §7.3).
pub(super) fn copy_config(running: &SessionDatastore, operation: &Element<'_>) -> Result<Output> {
    let parameters = Parameters::of(operation, &["target", "source"])?;
    let target = parameters.datastore(running, "target")?;
    let source = parameters.place("source")?;
    if source.name == "config" {
        target.require("ietf-netconf", "copy-config")?;
        let tree = config_tree(target.schema(), &source)?;
        let options = LoadOptions {
            mode: LoadMode::Replace,
            ..LoadOptions::default()
        };
        target.load(options, &mut |sink| {
            tree.emit(sink).map_err(|_| Error::Stopped)
        })?;
        return Ok(Output::Ok);
    }
    let source = named_datastore(running, &source)?;
    if source.datastore() == target.datastore() {
        let message = "the source and the target are the same";
        return Err(invalid(message, source.datastore().name()).into());
    }
    target.copy_from(&source, NOTE)?;
    Ok(Output::Ok)
}

/// `validate` (RFC 6241 §8.6.4.1). The source may be any datastore (RFC 8526 §3.2).
pub(super) fn validate(running: &SessionDatastore, operation: &Element<'_>) -> Result<Output> {
    let parameters = Parameters::of(operation, &["source"])?;
    let source = parameters.place("source")?;
    match source.name.as_str() {
        "config" => running.validate_content(config_tree(running.schema(), &source)?)?,
        "datastore" if source.namespace == NMDA_NAMESPACE => {
            identified_datastore(running, &source)?.validate()?;
        }
        _ => named_datastore(running, &source)?.validate()?,
    }
    Ok(Output::Ok)
}
