//! The table of the operations.

use espalier_store::Result;
use espalier_yang::data::DataTree;
use espalier_yang::{NodeId, Schema};

use super::{base, change_modules, compare, get_schema, push, subscriptions};
use crate::datastore::SessionDatastore;
use crate::notifications::{PUSH, SUBSCRIBED};
use crate::operations::OperationCall;

/// Runs an operation for a session.
type Run = fn(&SessionDatastore, &OperationCall) -> Result<DataTree>;

/// An operation of the server.
#[derive(Clone, Copy)]
pub(crate) struct ServerOperation {
    module: &'static str,
    name: &'static str,
    run: Run,
}

/// The operations, by module and name.
const OPERATIONS: [ServerOperation; 23] = [
    of("espalier-modules", "change-modules", change_modules::run),
    of(
        "espalier-notifications",
        "send-notification",
        base::send_notification,
    ),
    of("ietf-factory-default", "factory-reset", base::factory_reset),
    of("ietf-netconf", "cancel-commit", base::cancel_commit),
    of("ietf-netconf", "commit", base::commit),
    of("ietf-netconf", "copy-config", base::copy_config),
    of("ietf-netconf", "delete-config", base::delete_config),
    of("ietf-netconf", "discard-changes", base::discard_changes),
    of("ietf-netconf", "edit-config", base::edit_config),
    of("ietf-netconf", "kill-session", base::kill_session),
    of("ietf-netconf", "lock", base::lock),
    of("ietf-netconf", "unlock", base::unlock),
    of("ietf-netconf", "validate", base::validate),
    of("ietf-netconf-monitoring", "get-schema", get_schema::run),
    of("ietf-netconf", "close-session", base::close_session),
    of("ietf-netconf-private-candidate", "update", base::update),
    of("ietf-nmda-compare", "compare", compare::run),
    of(SUBSCRIBED, "delete-subscription", subscriptions::delete),
    of(
        SUBSCRIBED,
        "establish-subscription",
        subscriptions::establish,
    ),
    of(SUBSCRIBED, "kill-subscription", subscriptions::kill),
    of(SUBSCRIBED, "modify-subscription", subscriptions::modify),
    of(SUBSCRIBED, "reset", subscriptions::reset),
    of(PUSH, "resync-subscription", push::resync),
];

const fn of(module: &'static str, name: &'static str, run: Run) -> ServerOperation {
    ServerOperation { module, name, run }
}

impl ServerOperation {
    /// The operation of a schema node, if the server answers it.
    pub fn of(schema: &Schema, operation: NodeId) -> Option<Self> {
        let node = schema.node(operation);
        let module = &*schema.module(node.module).name;
        let mut all = OPERATIONS.into_iter();
        all.find(|one| one.module == module && one.name == &*node.name)
    }

    /// Runs it.
    pub fn run(self, of: &SessionDatastore, call: &OperationCall) -> Result<DataTree> {
        (self.run)(of, call)
    }
}
