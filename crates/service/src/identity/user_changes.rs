//! Adds and removes users: edits of ietf-system, and of the groups of ietf-netconf-acm.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use espalier_store::{CommitOptions, Edit, Error, Result, Tree};
use espalier_yang::data::{DataTree, MetadataMode, ParseOptions, Root, TreeBuilder, json};
use espalier_yang::path::{InstancePath, Keys};
use espalier_yang::{DataError, ErrorTag, Value};
use serde_json::{Value as Json, json};

use super::authorized_key::AuthorizedKey;
use super::password::hash_password;
use super::users::{SYSTEM_MODULE, USER_NAME_BYTES_MAX, password_scheme};
use crate::access::{NACM_MODULE, NacmConfig};
use crate::configuration::ConfigurationTrees;

/// The group whose members may do everything, and the name of its rule list.
pub const ADMINISTRATORS: &str = "admin";

/// A user to add, or to change.
#[derive(Clone, Copy)]
pub struct NewUser<'a> {
    /// The name.
    pub name: &'a str,
    /// The password.
    pub password: UserPassword<'a>,
    /// Public keys to add, for SSH. A key of the same name is replaced.
    pub keys: &'a [AuthorizedKey],
    /// The groups to add the user to.
    pub groups: &'a [String],
    /// The author of the commits.
    pub author: &'a str,
}

/// Where the password of a user is.
#[derive(Clone, Copy)]
pub enum UserPassword<'a> {
    /// In ietf-system: this one, in clear text.
    Clear(&'a str),
    /// In ietf-system: the present one, or none.
    Unchanged,
    /// Elsewhere ([`ExternalPasswords`](super::ExternalPasswords)): the user is not added to ietf-system.
    External,
}

/// Adds a user, or changes its password, and adds it to groups. The group [`ADMINISTRATORS`] gets its rule list if it has
/// none. The groups are changed first: a user without its groups could do less or more than intended.
///
/// # Errors
/// `invalid-value` for a name or a password that is not accepted; those of the commits.
pub fn set_user(trees: &ConfigurationTrees, user: NewUser<'_>) -> Result<()> {
    check_name(user.name)?;
    let acm = trees.for_writing(NACM_MODULE)?;
    if !user.groups.is_empty() {
        let groups = user.groups.iter();
        let groups: Vec<Json> = groups
            .map(|group| json!({"name": group, "user-name": [user.name]}))
            .collect();
        merge(
            &acm,
            &json!({"ietf-netconf-acm:nacm": {"groups": {"group": groups}}}),
            user.author,
        )?;
    }
    if user.groups.iter().any(|group| group == ADMINISTRATORS) {
        permit_administrators(&acm, user.author)?;
    }
    let mut entry = json!({"name": user.name});
    let password = match user.password {
        UserPassword::Clear(password) => Some(password),
        UserPassword::Unchanged => None,
        UserPassword::External => return Ok(()),
    };
    let system = trees.for_writing(SYSTEM_MODULE)?;
    if let Some(password) = password {
        let hash = hash_password(password, password_scheme(system.schema()))
            .map_err(|error| Error::data(ErrorTag::InvalidValue, error.to_string()))?;
        entry["password"] = Json::from(hash.as_str());
    }
    if !user.keys.is_empty() {
        let keys = user.keys.iter().map(|key| {
            json!({"name": &*key.name, "algorithm": key.algorithm(), "key-data": STANDARD.encode(key.data())})
        });
        entry["authorized-key"] = keys.collect();
    }
    let authentication = json!({"user-authentication-order": ["local-users"], "user": [entry]});
    let document = json!({"ietf-system:system": {"authentication": authentication}});
    merge(&system, &document, user.author)
}

/// Removes a user, also from all groups. `false` if there is no such user.
///
/// # Errors
/// Those of the commits.
pub fn remove_user(trees: &ConfigurationTrees, name: &str, author: &str) -> Result<bool> {
    let mut is_removed = false;
    if let Some(system) = trees.with_module(SYSTEM_MODULE)?
        && let Some(path) = entry(
            &system,
            SYSTEM_MODULE,
            &["system", "authentication", "user"],
            name,
        )
        && system.view()?.exists(&path)?
    {
        commit(&system, &[Edit::remove(path)], author)?;
        is_removed = true;
    }
    let Some(acm) = trees.with_module(NACM_MODULE)? else {
        return Ok(is_removed);
    };
    let config = NacmConfig::read(&acm.view()?)?.unwrap_or_default();
    let groups = config.groups.iter();
    let memberships = groups.filter(|(_, users)| users.contains(name));
    let edits = memberships.filter_map(|(group, _)| {
        let group = entry(&acm, NACM_MODULE, &["nacm", "groups", "group"], group)?;
        let schema = acm.schema();
        let module = schema.module_by_name(NACM_MODULE)?;
        let leaf_list = schema.child(group.target(), module, "user-name")?;
        Some(Edit::remove(
            group.child(leaf_list, Keys::Values(vec![name_value(name)])),
        ))
    });
    let edits: Vec<Edit> = edits.collect();
    if !edits.is_empty() {
        commit(&acm, &edits, author)?;
        is_removed = true;
    }
    Ok(is_removed)
}

fn check_name(name: &str) -> Result<()> {
    let is_accepted = !name.is_empty()
        && name.len() <= USER_NAME_BYTES_MAX
        && !name.contains(|c: char| c == ':' || c.is_control());
    match is_accepted {
        true => Ok(()),
        false => {
            let message = format!(
                "a user name has 1 to {USER_NAME_BYTES_MAX} bytes, no colon and no control characters"
            );
            Err(Error::data(ErrorTag::InvalidValue, message))
        }
    }
}

/// Adds the rule list of the administrators before all others, if there is none.
fn permit_administrators(acm: &Tree, author: &str) -> Result<()> {
    let config = NacmConfig::read(&acm.view()?)?.unwrap_or_default();
    let mut lists = config.rule_lists.iter();
    if lists.any(|list| list.name == ADMINISTRATORS) {
        return Ok(());
    }
    let document = json!({"ietf-netconf-acm:nacm": {"rule-list": [{
        "@": {"yang:insert": "first"},
        "name": ADMINISTRATORS,
        "group": [ADMINISTRATORS],
        "rule": [{"name": "permit-all", "module-name": "*", "access-operations": "*", "action": "permit"}],
    }]}});
    merge(acm, &document, author)
}

/// Merges a JSON document into a datastore.
fn merge(tree: &Tree, document: &Json, author: &str) -> Result<()> {
    let text = document.to_string();
    let mut builder = TreeBuilder::new();
    let options = ParseOptions {
        metadata: MetadataMode::Kept,
        ..ParseOptions::default()
    };
    let input = text.as_bytes();
    json::parse(
        tree.schema(),
        Root::Datastore,
        input,
        &mut builder,
        &options,
    )
    .map_err(|error| {
        let error = DataError::new(ErrorTag::InvalidValue, error.to_string());
        Error::from(error)
    })?;
    let data: DataTree = builder.finish()?;
    commit(tree, &[Edit::merge(InstancePath::root(), data)], author)
}

fn commit(tree: &Tree, edits: &[Edit], author: &str) -> Result<()> {
    let options = CommitOptions {
        author,
        comment: "users",
        ..CommitOptions::default()
    };
    tree.commit(edits, options)?;
    Ok(())
}

/// The path of a list entry with one key.
fn entry(tree: &Tree, module: &str, names: &[&str], key: &str) -> Option<InstancePath> {
    let schema = tree.schema();
    let module = schema.module_by_name(module)?;
    let mut path = InstancePath::root();
    for (index, name) in names.iter().enumerate() {
        let node = schema.child(path.target(), module, name)?;
        let keys = match index + 1 == names.len() {
            true => Keys::Values(vec![name_value(key)]),
            false => Keys::None,
        };
        path = path.child(node, keys);
    }
    Some(path)
}

fn name_value(name: &str) -> Value {
    Value::String(name.into())
}
