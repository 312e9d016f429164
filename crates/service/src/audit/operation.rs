//! The operations that are recorded.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The kind of a record, by which recording is switched on and off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditKind {
    /// Reads and subscriptions.
    Reads,
    /// Changes of data, of models, and of locks, successful or not.
    Writes,
    /// Beginnings and ends of sessions, failed logins, changes of credentials.
    Logins,
    /// Requests that access control rejected.
    Denials,
    /// RPCs, actions, and administrative operations.
    Operations,
}

/// Declares the operations with their stable names and kinds.
macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $kind:ident;)*) => {
        /// A recorded operation. The names are stored, and never change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum AuditOperation {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
            /// An operation that a later version of Espalier recorded.
            #[serde(rename = "other", other)]
            Other,
        }

        impl AuditOperation {
            /// Every operation that this version records.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The stored name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Other => "other",
                }
            }

            /// The kind that the operation belongs to.
            pub fn kind(self) -> AuditKind {
                match self {
                    $(Self::$variant => AuditKind::$kind,)*
                    Self::Other => AuditKind::Operations,
                }
            }
        }
    };
}

operations! {
    /// A session begins.
    Login = "login", Logins;
    /// The user ends a session.
    Logout = "logout", Logins;
    /// A user is rejected.
    LoginFailed = "login-failed", Logins;
    /// A session ends because it was idle for too long.
    SessionExpired = "session-expired", Logins;
    /// A session is ended by another one.
    SessionKilled = "session-killed", Logins;
    /// A user is added, or changed.
    UserChanged = "user-changed", Logins;
    /// A user is removed, with its tokens.
    UserRemoved = "user-removed", Logins;
    /// A token is created.
    TokenCreated = "token-created", Logins;
    /// A token is revoked.
    TokenRevoked = "token-revoked", Logins;
    /// Data is read. Not recorded by default.
    Read = "read", Reads;
    /// Data, or the modules of an upgrade, are validated. Not recorded by default.
    Validate = "validate", Reads;
    /// A subscription begins. Not recorded by default.
    Subscribe = "subscribe", Reads;
    /// A notification is sent. Not recorded by default: the event log has it.
    Notify = "notify", Reads;
    /// Data is changed.
    Edit = "edit", Writes;
    /// A document is loaded into a datastore.
    Load = "load", Writes;
    /// A candidate is committed.
    Commit = "commit", Writes;
    /// A confirmed commit is confirmed.
    Confirm = "confirm", Writes;
    /// A confirmed commit is cancelled, or its time is over.
    Cancel = "cancel", Writes;
    /// The changes of a candidate are discarded.
    Discard = "discard", Writes;
    /// A candidate is rebased on running.
    Update = "update", Writes;
    /// A datastore is replaced with a copy of another.
    Copy = "copy", Writes;
    /// A datastore, a collection, a metric or a dataspace is deleted.
    Delete = "delete", Writes;
    /// A lock is taken.
    Lock = "lock", Writes;
    /// A lock is released.
    Unlock = "unlock", Writes;
    /// A datastore is set back to an older version.
    Rollback = "rollback", Writes;
    /// The number of versions to keep is changed; older ones are removed.
    SetRetention = "set-retention", Writes;
    /// Modules are installed, upgraded or removed.
    SchemaChange = "schema-change", Writes;
    /// An RPC or an action is executed.
    Invoke = "invoke", Operations;
    /// A backup or a copy of the store is made.
    Backup = "backup", Operations;
    /// The store is restored from a backup.
    Restore = "restore", Operations;
    /// The settings of the audit log are changed.
    AuditSettings = "audit-settings", Operations;
    /// The settings of an event log are changed.
    NotificationSettings = "notification-settings", Operations;
    /// The server starts.
    ServerStart = "server-start", Operations;
    /// The server stops.
    ServerStop = "server-stop", Operations;
    /// A request is rejected by access control, and is none of the other operations.
    AccessDenied = "access-denied", Denials;
}

impl fmt::Display for AuditOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for AuditOperation {
    type Err = UnknownOperation;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.iter().find(|operation| operation.name() == name);
        named.copied().ok_or(UnknownOperation)
    }
}

/// The error of a name that is no operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no audited operation has this name")]
pub struct UnknownOperation;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_and_serialized_and_unknown_ones_are_read_as_other() {
        for operation in AuditOperation::ALL {
            let json = serde_json::to_string(operation).expect("JSON");
            assert_eq!(json, format!("\"{}\"", operation.name()));
            assert_eq!(operation.name().parse(), Ok(*operation));
            assert_eq!(
                serde_json::from_str::<AuditOperation>(&json).ok(),
                Some(*operation)
            );
        }
        let later: AuditOperation = serde_json::from_str("\"teleport\"").expect("other");
        assert_eq!(later, AuditOperation::Other);
        assert_eq!("teleport".parse::<AuditOperation>(), Err(UnknownOperation));
    }
}
