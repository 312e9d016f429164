//! Programs that serve state, answer operations and take part in commits, in any language.
//!
//! A program [connects](ProviderConnections::connect) with a [`ProviderDescription`] of what it provides. The server then
//! puts calls, as JSON messages, into the [outbox](ProviderConnection::next_message) of the connection, which a front end
//! passes to the program; the program answers with [messages](ProviderConnection::receive). When the connection is closed,
//! all that the program provides ends, and calls in progress fail.
//!
//! Each call has a timeout, so a program that hangs delays only what needs its answer. The roles use what the library
//! offers to programs in the same process: providers of state and subscribers of the store, and
//! [operations](crate::operations).

mod commits;
mod connection;
mod connections;
mod description;
mod messages;
mod operations;
mod outbox;
mod state;
mod upgrades;

pub use connection::{CALL_TIMEOUT, CallFailure, PROVIDER_CALLS_PENDING_MAX, ProviderConnection};
pub use connections::{PROVIDERS_MAX, ProviderConnections};
pub use description::{
    COMMIT_ROLES_MAX, CommitPhase, CommitRole, OperationRole, PROVIDER_ROLES_MAX,
    ProviderDescription, StateRole, UpgradeRole,
};
pub use messages::CHANGES_SENT_MAX;
pub use outbox::{OUTBOX_BYTES_MAX, OUTBOX_MESSAGES_MAX};
pub use state::PUSHED_BYTES_MAX;
pub use upgrades::UPGRADE_TIMEOUT;

pub(crate) use upgrades::UpgradeCallbacks;
