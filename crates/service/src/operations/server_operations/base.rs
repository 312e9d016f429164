//! The base operations (RFC 6241 §7, §8), as operations of a model: what `POST` to
//! `{+restconf}/operations/ietf-netconf:edit-config` invokes, for example.

use espalier_store::{
    ConfirmOptions, Datastore, Edit, Error, ErrorOption, LoadMode, LoadOptions, Resolution, Result,
    TestOption,
};
use espalier_yang::data::{DataTree, Operation};
use espalier_yang::{ErrorTag, InstancePath};

use super::parameters::{Place, config_tree, datastore, parameter_error, place};
use crate::access::hide_missing;
use crate::datastore::{ChangeNote, SessionDatastore};
use crate::operations::OperationCall;
use crate::session::{SessionId, SessionKind};

/// The comment of the commits of these operations.
const NOTE: ChangeNote<'static> = ChangeNote {
    author: "",
    comment: "",
};

/// No output.
fn done<T>(_: T) -> DataTree {
    DataTree::default()
}

pub(super) fn edit_config(of: &SessionDatastore, call: &OperationCall) -> Result<DataTree> {
    let target = of.sibling(datastore(call, "target")?)?;
    let text = |name| call.argument(name).unwrap_or_default();
    let operation = match &*text("default-operation") {
        "replace" => Operation::Replace,
        "none" => Operation::None,
        _ => Operation::Merge,
    };
    let test = match &*text("test-option") {
        "set" => TestOption::Set,
        "test-only" => TestOption::TestOnly,
        _ => TestOption::TestThenSet,
    };
    let error = match &*text("error-option") {
        "continue-on-error" => ErrorOption::ContinueOnError,
        "rollback-on-error" => ErrorOption::RollbackOnError,
        _ => ErrorOption::StopOnError,
    };
    let document = config(call)?;
    let tree = config_tree(of.schema(), document)?;
    let edit = match operation {
        // The whole datastore (RFC 6241 §7.2).
        Operation::Replace => Edit::replace_all(tree),
        operation => Edit::apply(InstancePath::root(), tree, operation),
    };
    // The document is one edit, so every error option leaves all of it or nothing.
    target.edit_config(&[edit], test, error, NOTE).map(done)
}

/// The `config` at the top of the input.
fn config(call: &OperationCall) -> Result<&str> {
    let mut arguments = call.arguments().iter();
    let any = arguments.find_map(|node| match &node.content {
        espalier_yang::data::Content::Any(document) => Some(&**document),
        _ => None,
    });
    any.ok_or_else(|| {
        let message = "“config” is missing; “url” is not supported";
        let error = parameter_error(ErrorTag::MissingElement, message);
        error.on_element("config").into()
    })
}

pub(super) fn copy_config(of: &SessionDatastore, call: &OperationCall) -> Result<DataTree> {
    let target = datastore(call, "target")?;
    match place(call, "source")? {
        Place::Datastore(source) if source == target => {
            let message = "the source and the target are the same";
            Err(parameter_error(ErrorTag::InvalidValue, message).into())
        }
        Place::Datastore(source) => of
            .sibling(target)?
            .copy_from(&of.sibling(source)?, NOTE)
            .map(done),
        Place::Config(document) => {
            let target = of.sibling(target)?;
            target.require_operation("copy-config")?;
            let tree = config_tree(of.schema(), document)?;
            let options = LoadOptions {
                mode: LoadMode::Replace,
                ..LoadOptions::default()
            };
            target
                .load(options, &mut |sink| {
                    tree.emit(sink).map_err(|_| Error::Stopped)
                })
                .map(done)
        }
    }
}

pub(super) fn delete_config(of: &SessionDatastore, call: &OperationCall) -> Result<DataTree> {
    let target = datastore(call, "target")?;
    if target != Datastore::Startup {
        let message = format!("{} cannot be deleted", target.name());
        let error = parameter_error(ErrorTag::InvalidValue, message);
        return Err(error.on_element(target.name()).into());
    }
    of.sibling(target)?.delete(NOTE).map(done)
}

pub(super) fn lock(of: &SessionDatastore, call: &OperationCall) -> Result<DataTree> {
    of.sibling(datastore(call, "target")?)?.lock().map(done)
}

pub(super) fn unlock(of: &SessionDatastore, call: &OperationCall) -> Result<DataTree> {
    of.sibling(datastore(call, "target")?)?.unlock().map(done)
}

pub(super) fn commit(of: &SessionDatastore, call: &OperationCall) -> Result<DataTree> {
    let [persist, persist_id] = ["persist", "persist-id"].map(|name| call.argument(name));
    let timeout = call.argument("confirm-timeout");
    let timeout = call
        .argument("confirmed")
        .map(|_| timeout.and_then(|text| text.parse().ok()).unwrap_or(600));
    let confirm = ConfirmOptions {
        timeout,
        persist: persist.as_deref(),
        persist_id: persist_id.as_deref(),
    };
    let candidate = of.sibling(Datastore::Candidate)?;
    candidate.commit_candidate(confirm, NOTE).map(done)
}

pub(super) fn cancel_commit(of: &SessionDatastore, call: &OperationCall) -> Result<DataTree> {
    let persist_id = call.argument("persist-id");
    let running = of.sibling(Datastore::Running)?;
    running.cancel_commit(persist_id.as_deref(), NOTE).map(done)
}

pub(super) fn discard_changes(of: &SessionDatastore, _: &OperationCall) -> Result<DataTree> {
    of.sibling(Datastore::Candidate)?
        .discard_changes(NOTE)
        .map(done)
}

/// `update` of a private candidate.
pub(super) fn update(of: &SessionDatastore, call: &OperationCall) -> Result<DataTree> {
    let resolution = match call.argument("resolution-mode").as_deref() {
        Some("prefer-candidate") => Resolution::PreferCandidate,
        Some("prefer-running") => Resolution::PreferRunning,
        _ => Resolution::RevertOnConflict,
    };
    let session = of.session();
    if session.kind() == SessionKind::Connection && !session.has_private_candidate() {
        let message = "the session has no private candidate; its client must announce the capability private-candidate";
        return Err(parameter_error(ErrorTag::OperationNotSupported, message).into());
    }
    let candidate = of.sibling(Datastore::PrivateCandidate)?;
    candidate.update(resolution, NOTE).map(done)
}

pub(super) fn validate(of: &SessionDatastore, call: &OperationCall) -> Result<DataTree> {
    match place(call, "source")? {
        Place::Datastore(source) => of.sibling(source)?.validate().map(done),
        Place::Config(document) => {
            let running = of.sibling(Datastore::Running)?;
            let content = config_tree(of.schema(), document)?;
            running.validate_content(content).map(done)
        }
    }
}

pub(super) fn close_session(of: &SessionDatastore, _: &OperationCall) -> Result<DataTree> {
    of.end().map(done)
}

pub(super) fn kill_session(of: &SessionDatastore, call: &OperationCall) -> Result<DataTree> {
    let id = call.argument("session-id");
    let id = id.and_then(|text| text.parse().ok()).unwrap_or_default();
    of.kill(SessionId(id)).map(done)
}

/// `<factory-reset>` (RFC 8808 §3).
pub(super) fn factory_reset(of: &SessionDatastore, _: &OperationCall) -> Result<DataTree> {
    of.factory_reset().map(done)
}

/// `send-notification` of `espalier-notifications`.
/// A parent that does not exist, and one that is hidden from the user, look the same.
pub(super) fn send_notification(of: &SessionDatastore, call: &OperationCall) -> Result<DataTree> {
    let access = of.access()?;
    let sent = of.send_notification(&call.schema, call.arguments());
    sent.map_err(|error| match (error, access.table()) {
        (Error::Data(errors), Some(table)) => Error::Data(hide_missing(table, errors)),
        (error, _) => error,
    })
}
