//! All connected programs.

use std::collections::HashMap;
use std::sync::Arc;

use espalier_store::{Error, Registration, Result, SubscriptionGuard};
use espalier_yang::{DataError, ErrorTag, ErrorType, InstancePath, Schema};
use parking_lot::Mutex;
use serde_json::Value as Json;

use super::connection::{ProviderConnection, SharedConnection};
use super::description::{COMMIT_ROLES_MAX, PROVIDER_ROLES_MAX, ProviderDescription, UpgradeRole};
use super::{commits, operations, state};
use crate::anchor::Anchor;
use crate::audit::AuditOperation;
use crate::datastore::{Call, SessionDatastore};
use crate::identity::random_id;
use crate::notifications::{Notification, parse_time};
use crate::operations::OperationRegistration;
use crate::service::Service;

/// The maximum number of connected programs.
pub const PROVIDERS_MAX: usize = 256;

/// The connected programs of a service.
#[derive(Default)]
pub struct ProviderConnections {
    by_id: Mutex<HashMap<String, Connected>>,
    /// Held while a program connects, so that two of one name do not connect at a time.
    connecting: Mutex<()>,
}

/// A connected program, with all that it provides.
struct Connected {
    connection: SharedConnection,
    anchor: u64,
    _state: Vec<Registration>,
    _operations: Vec<OperationRegistration>,
    _commits: Vec<SubscriptionGuard>,
    upgrades: Vec<UpgradeRole>,
}

impl ProviderConnections {
    /// Connects a program to an anchor. Everything that it provides is registered, or nothing.
    fn connect(
        &self,
        service: &Service,
        user: &str,
        anchor: &Anchor,
        description: &ProviderDescription,
    ) -> Result<SharedConnection> {
        let name = description.name.trim();
        let roles = description.state.len() + description.operations.len();
        let roles = roles + description.commits.len() + description.upgrades.len();
        if name.is_empty() || roles > PROVIDER_ROLES_MAX {
            let message = format!("a program needs a name, and at most {PROVIDER_ROLES_MAX} roles");
            return Err(Error::data(ErrorTag::InvalidValue, message));
        }
        let id = random_id()
            .map_err(|error| Error::data(ErrorTag::OperationFailed, error.to_string()))?;
        if description.commits.len() > COMMIT_ROLES_MAX {
            let message = format!(
                "a program takes part in commits in at most {COMMIT_ROLES_MAX} roles (COMMIT_ROLES_MAX); a role may have many paths"
            );
            return Err(Error::data(ErrorTag::InvalidValue, message));
        }
        let _one_at_a_time = self.connecting.lock();
        // Before the earlier connection ends.
        check(anchor.schema(), description)?;
        let (name, user) = (name.to_owned(), user.to_owned());
        let connection = Arc::new(ProviderConnection::new(id, name, user));
        let name = connection.name();
        // The earlier connection of the same program ends first, so that it is not called twice.
        self.replace(anchor.running().anchor_id(), name)?;
        let connected = register(service, anchor, &connection, description);
        let connected = connected.inspect_err(|_| connection.close())?;
        let id = connection.id().to_owned();
        self.by_id.lock().insert(id, connected);
        tracing::info!(program = name, roles, "a program connected");
        Ok(connection)
    }

    /// Ends the connection of a program of this name, and checks that there is room for another.
    fn replace(&self, anchor: u64, name: &str) -> Result<()> {
        let mut by_id = self.by_id.lock();
        let is_same = |other: &Connected| other.anchor == anchor && other.connection.name() == name;
        let same = by_id.iter().find(|(_, other)| is_same(other));
        let replaced = same.map(|(id, _)| id.clone());
        let replaced = replaced.and_then(|id| by_id.remove(&id));
        if by_id.len() >= PROVIDERS_MAX {
            let message = format!("{PROVIDERS_MAX} programs are connected (PROVIDERS_MAX)");
            let error = DataError::new(ErrorTag::ResourceDenied, message);
            return Err(error.of_type(ErrorType::Protocol).into());
        }
        drop(by_id);
        if let Some(replaced) = replaced {
            tracing::warn!(
                program = name,
                "a program connected again and replaces itself"
            );
            replaced.connection.close();
        }
        Ok(())
    }

    /// The connection with an id.
    fn get(&self, id: &str) -> Option<SharedConnection> {
        let by_id = self.by_id.lock();
        by_id.get(id).map(|one| Arc::clone(&one.connection))
    }

    /// The connected programs, sorted by name.
    pub fn list(&self) -> Vec<SharedConnection> {
        let by_id = self.by_id.lock();
        let mut all: Vec<_> = by_id
            .values()
            .map(|one| Arc::clone(&one.connection))
            .collect();
        all.sort_by(|one, other| one.name().cmp(other.name()));
        all
    }

    /// The programs that convert data of an anchor, with the number of the role.
    pub(super) fn upgrades(&self, anchor: u64) -> Vec<(SharedConnection, usize, UpgradeRole)> {
        let by_id = self.by_id.lock();
        let of_anchor = by_id.values().filter(|one| one.anchor == anchor);
        let roles = of_anchor.flat_map(|one| {
            let roles = one.upgrades.iter().cloned().enumerate();
            roles.map(|(number, role)| (Arc::clone(&one.connection), number, role))
        });
        let mut roles: Vec<_> = roles.collect();
        roles.sort_by(|one, other| one.0.name().cmp(other.0.name()));
        roles
    }

    /// Ends a connection, with all that its program provides.
    pub fn disconnect(&self, connection: &ProviderConnection) {
        connection.close();
        let removed = self.by_id.lock().remove(connection.id());
        if removed.is_some() {
            tracing::info!(program = connection.name(), "a program disconnected");
        }
    }

    /// Ends all connections.
    pub fn end(&self) {
        let all = std::mem::take(&mut *self.by_id.lock());
        all.values().for_each(|one| one.connection.close());
    }
}

/// Checks the roles without registering them.
fn check(schema: &Schema, description: &ProviderDescription) -> Result<()> {
    let state = description.state.iter();
    let state = state.map(|role| (&role.path, role.timeout));
    let operations = description.operations.iter();
    let operations = operations.map(|role| (&role.path, role.timeout));
    let commits = description.commits.iter();
    let commits = commits.flat_map(|role| role.paths.iter().map(|path| (path, role.timeout)));
    for (path, timeout) in state.chain(operations).chain(commits) {
        InstancePath::parse_pattern(schema, path)?;
        state::seconds(timeout, std::time::Duration::ZERO)?;
    }
    Ok(())
}

fn register(
    service: &Service,
    anchor: &Anchor,
    connection: &SharedConnection,
    description: &ProviderDescription,
) -> Result<Connected> {
    let tree = anchor.running();
    let state = description.state.iter().enumerate();
    let state = state.map(|role| state::register(connection, tree, role));
    let answered = description.operations.iter().enumerate();
    let answered =
        answered.map(|role| operations::register(connection, service.operations(), anchor, role));
    let commits = description.commits.iter().enumerate();
    let commits = commits.map(|role| commits::register(connection, tree, role));
    Ok(Connected {
        anchor: tree.anchor_id(),
        _state: state.collect::<Result<_>>()?,
        _operations: answered.collect::<Result<_>>()?,
        _commits: commits
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .flatten()
            .collect(),
        upgrades: description.upgrades.clone(),
        connection: Arc::clone(connection),
    })
}

impl SessionDatastore {
    /// Connects a program to the anchor.
    ///
    /// # Errors
    /// `access-denied` for a user with restrictions, since a program sees and decides on data; what is wrong with its
    /// roles; `resource-denied` beyond [`PROVIDERS_MAX`].
    pub fn connect_provider(&self, description: &ProviderDescription) -> Result<SharedConnection> {
        let call = Call::new(AuditOperation::Subscribe);
        self.counted(call, |_| {
            self.require_unrestricted("providers")?;
            self.require_write_scope()?;
            let anchor = Anchor::of(self.tree())?;
            let user = &self.session().caller().user;
            let service = self.service();
            let connections = service.providers();
            connections.connect(service, user, &anchor, description)
        })
    }

    /// Whether the user may still have programs connected: the rules may have changed.
    pub fn may_provide(&self) -> bool {
        self.require_unrestricted("providers").is_ok()
    }

    /// The connection with an id that the same user made.
    pub fn provider(&self, id: &str) -> Option<SharedConnection> {
        let connection = self.service().providers().get(id)?;
        (connection.user() == self.session().caller().user).then_some(connection)
    }

    /// Handles a message of a program.
    ///
    /// # Errors
    /// As [`ProviderConnection::receive`]; for a notification, as [`Self::notify`].
    pub fn receive_from_provider(
        &self,
        connection: &ProviderConnection,
        message: &Json,
    ) -> Result<()> {
        let Some(content) = message.get("notify") else {
            return connection.receive(message).map_err(Error::Data);
        };
        let text = |name: &str| message.get(name).and_then(Json::as_str).unwrap_or_default();
        let time = match text("event-time") {
            "" => None,
            written => Some(parse_time(written).ok_or_else(|| {
                let message = format!("“{written}” is not a time (RFC 3339)");
                Error::data(ErrorTag::InvalidValue, message)
            })?),
        };
        let (parent, document) = (text("parent"), content.to_string());
        let schema = self.schema();
        let notification = Notification::parse_json(schema, parent, document.as_bytes(), time)?;
        self.notify(notification).map(drop)
    }

    /// Ends a connection, with all that its program provides.
    pub fn disconnect_provider(&self, connection: &ProviderConnection) {
        self.service().providers().disconnect(connection);
    }

    /// The connected programs.
    ///
    /// # Errors
    /// `access-denied` for a user with restrictions.
    pub fn providers(&self) -> Result<Vec<SharedConnection>> {
        self.require_unrestricted("providers")?;
        Ok(self.service().providers().list())
    }
}
