//! The users of ietf-system (RFC 7317 §3.3), read from a datastore.

use std::collections::BTreeMap;

use espalier_store::{Selection, View};
use espalier_yang::data::{DataNode, TreeBuilder};
use espalier_yang::path::{InstancePath, Keys};
use espalier_yang::schema::ModuleNames;
use espalier_yang::{NodeId, Schema, Value};

use super::authorized_key::{AuthorizedKey, AuthorizedKeyError};
use super::password::{PasswordError, PasswordHash, Scheme};

/// The module with the users.
pub(super) const SYSTEM_MODULE: &str = "ietf-system";

/// The maximum number of users.
pub const USERS_MAX: usize = 10_000;

/// The maximum length of a user name, in bytes.
pub const USER_NAME_BYTES_MAX: usize = 256;

/// The maximum number of nodes of the users' data: a user with a few keys has about 20.
const NODES_MAX: usize = USERS_MAX * 40;

/// A yescrypt hash, to find out whether a leaf accepts one.
const YESCRYPT_SAMPLE: &str = "$y$j9T$........$...........................................";

/// The users of a datastore.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users {
    by_name: BTreeMap<Box<str>, User>,
    accepts_passwords: bool,
}

/// A user. `Debug` has no password hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: Box<str>,
    /// The password; `None` if there is none. With an error, the stored value cannot be used.
    pub password: Option<Result<PasswordHash, PasswordError>>,
    /// The public keys for SSH. With an error, the stored key cannot be used.
    pub authorized_keys: Vec<Result<AuthorizedKey, AuthorizedKeyError>>,
}

/// Users could not be read.
#[derive(Debug, thiserror::Error)]
pub enum UsersError {
    /// The read failed.
    #[error(transparent)]
    Store(#[from] espalier_store::Error),
    /// There are too many.
    #[error("the datastore has more than {USERS_MAX} users (USERS_MAX)")]
    TooMany,
}

impl Users {
    /// Reads the users of a datastore; none if its schema does not have ietf-system with the features
    /// `authentication` and `local-users`.
    ///
    /// # Errors
    /// The read fails, or there are too many users.
    pub fn read(view: &View) -> Result<Self, UsersError> {
        let Some(nodes) = UserNodes::find(view.schema()) else {
            return Ok(Self::default());
        };
        let path = InstancePath::root()
            .child(nodes.system, Keys::None)
            .child(nodes.authentication, Keys::None);
        let mut builder = TreeBuilder::with_limit(NODES_MAX);
        let read = view.read(&path, &Selection::default(), &mut builder);
        let tree = builder.finish().map_err(|_| UsersError::TooMany)?;
        read?;
        let children = tree.nodes.iter().flat_map(DataNode::children);
        let mut users = Self::default();
        for child in children {
            if child.node == nodes.order {
                users.accepts_passwords |= is_local_users(child);
            } else if child.node == nodes.user {
                users.add(nodes.user(child));
            }
        }
        match users.by_name.len() > USERS_MAX {
            true => Err(UsersError::TooMany),
            false => Ok(users),
        }
    }

    /// The user with a name.
    pub fn get(&self, name: &str) -> Option<&User> {
        self.by_name.get(name)
    }

    /// All users, by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &User> {
        self.by_name.values()
    }

    /// Whether there is no user.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Whether users may log in with their passwords: `user-authentication-order` has `local-users`. An empty order
    /// only allows other methods (RFC 7317 §3.3).
    pub fn accepts_passwords(&self) -> bool {
        self.accepts_passwords
    }

    /// The hash that the password of an unknown user is compared with, without effect. It costs as much as that of the first
    /// user with a password, so that the time of an answer does not show whether a user exists.
    pub fn decoy(&self) -> PasswordHash {
        let mut hashes = self.iter().filter_map(|user| user.password.as_ref());
        let hash = hashes.find_map(|hash| hash.as_ref().ok());
        hash.cloned().unwrap_or_else(PasswordHash::decoy)
    }

    fn add(&mut self, user: Option<User>) {
        if let Some(user) = user {
            self.by_name.insert(user.name.clone(), user);
        }
    }
}

impl User {
    /// Returns whether one of the user's keys is the key that a client presents: an algorithm and a public key blob.
    /// The client must then prove that it has the private key.
    pub fn has_key(&self, algorithm: &str, data: &[u8]) -> bool {
        let mut keys = self.authorized_keys.iter().flatten();
        keys.any(|key| key.is_key(algorithm, data))
    }
}

/// The schema node of the passwords; `None` if the schema has none.
pub(super) fn password_leaf(schema: &Schema) -> Option<NodeId> {
    UserNodes::find(schema).map(|nodes| nodes.password)
}

/// The scheme in which new passwords are hashed: yescrypt if the leaf `password` accepts it, as with the module
/// `espalier-system`, else SHA-512, the strongest of RFC 7317.
pub fn password_scheme(schema: &Schema) -> Scheme {
    let accepts_yescrypt = || {
        let password = schema.node(password_leaf(schema)?);
        let names = ModuleNames {
            leaf_module: password.module,
        };
        let value_type = &password.as_value()?.value_type;
        value_type.parse(schema, YESCRYPT_SAMPLE, &names).ok()
    };
    match accepts_yescrypt() {
        Some(_) => Scheme::Yescrypt,
        None => Scheme::Sha512,
    }
}

/// The schema nodes of RFC 7317 §3.3.
struct UserNodes {
    system: NodeId,
    authentication: NodeId,
    order: NodeId,
    user: NodeId,
    name: NodeId,
    password: NodeId,
    key: NodeId,
    key_name: NodeId,
    algorithm: NodeId,
    data: NodeId,
}

impl UserNodes {
    fn find(schema: &Schema) -> Option<Self> {
        let module = schema.module_by_name(SYSTEM_MODULE)?;
        let child = |parent, name| schema.child(parent, module, name);
        let system = child(None, "system")?;
        let authentication = child(Some(system), "authentication")?;
        let user = child(Some(authentication), "user")?;
        let key = child(Some(user), "authorized-key")?;
        Some(Self {
            system,
            authentication,
            order: child(Some(authentication), "user-authentication-order")?,
            user,
            name: child(Some(user), "name")?,
            password: child(Some(user), "password")?,
            key,
            key_name: child(Some(key), "name")?,
            algorithm: child(Some(key), "algorithm")?,
            data: child(Some(key), "key-data")?,
        })
    }

    fn user(&self, entry: &DataNode) -> Option<User> {
        let password = text(entry, self.password).map(PasswordHash::parse);
        let keys = entry.children().iter();
        let keys = keys.filter(|child| child.node == self.key);
        Some(User {
            name: text(entry, self.name)?.into(),
            password,
            authorized_keys: keys.map(|key| self.authorized_key(key)).collect(),
        })
    }

    fn authorized_key(&self, entry: &DataNode) -> Result<AuthorizedKey, AuthorizedKeyError> {
        let name = text(entry, self.key_name).unwrap_or_default();
        let algorithm = text(entry, self.algorithm).unwrap_or_default();
        let data = entry.child(self.data).and_then(DataNode::value);
        let data = data.and_then(Value::as_bytes).unwrap_or_default();
        AuthorizedKey::new(name, algorithm, data)
    }
}

pub(super) fn text(entry: &DataNode, leaf: NodeId) -> Option<&str> {
    let value = entry.child(leaf)?.value()?;
    std::str::from_utf8(value.as_bytes()?).ok()
}

fn is_local_users(method: &DataNode) -> bool {
    matches!(method.value(), Some(Value::Identity(name)) if **name == *"ietf-system:local-users")
}
