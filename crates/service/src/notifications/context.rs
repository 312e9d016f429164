//! What the delivery of events needs of the service.

use std::sync::Arc;

use espalier_store::{Result, Tree};
use espalier_yang::Schema;

use crate::access::{Caller, UserAccess};

/// What the delivery of events needs of the service. A trait, so that the files here do not depend on the service, which
/// depends on them.
pub(crate) trait EventContext: Send + Sync {
    /// What a user may do with data of an anchor, under one of its schemas.
    ///
    /// # Errors
    /// Those of reading the rules.
    fn access_of_caller(
        &self,
        caller: &Caller,
        tree: &Tree,
        schema: &Arc<Schema>,
    ) -> Result<Arc<UserAccess>>;

    /// The schema of the server's own notifications.
    ///
    /// # Errors
    /// Those of the store in memory.
    fn server_schema(&self) -> Result<Arc<Schema>>;

    /// Opens running of an anchor again, with the modules that it has now.
    ///
    /// # Errors
    /// [`espalier_store::Error::Unknown`] if the anchor was deleted.
    fn reopened(&self, running: &Tree) -> Result<Tree>;

    /// Counts events that are not delivered because the access rules deny them.
    fn count_denied_notifications(&self, count: usize);
}
