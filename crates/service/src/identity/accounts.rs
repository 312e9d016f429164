//! Authentication with the users that are stored now.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use espalier_store::{Result, Stamp, Tree, View};
use espalier_yang::path::{InstancePath, Keys};
use parking_lot::Mutex;

use super::authenticator::Authenticator;
use super::cert_maps;
use super::cert_to_name::{CertToName, Fingerprint, MapEntry, MapType};
use super::users::{SYSTEM_MODULE, Users, UsersError};
use crate::configuration::ConfigurationTrees;

/// The users of a server. They are read again when they change: [`Self::refresh`] is called periodically, and after
/// each change by this process.
pub struct Accounts {
    trees: Arc<ConfigurationTrees>,
    authenticator: Authenticator,
    /// The certificates, in DER, of the authorities that the TLS server trusts.
    authorities: Mutex<Vec<Vec<u8>>>,
    known: Mutex<Option<Known>>,
    generation: AtomicU64,
}

/// Where and when the users were read.
struct Known {
    tree: Tree,
    stamp: Stamp,
}

/// When the users are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Read {
    IfChanged,
    Always,
}

impl Accounts {
    /// The users of these datastores. `authorities` are the certificates, in DER, of the authorities that the TLS
    /// server trusts: without a map, their clients have the common names of their certificates. There are no users
    /// before the first [`Self::refresh`].
    pub fn new(
        trees: Arc<ConfigurationTrees>,
        authenticator: Authenticator,
        authorities: Vec<Vec<u8>>,
    ) -> Self {
        let accounts = Self {
            trees,
            authenticator,
            authorities: Mutex::new(authorities),
            known: Mutex::default(),
            generation: AtomicU64::new(0),
        };
        accounts.set_certificates(Vec::new());
        accounts
    }

    /// What authenticates: with its tokens and users.
    pub fn authenticator(&self) -> &Authenticator {
        &self.authenticator
    }

    /// Whether there is no user.
    pub fn is_empty(&self) -> bool {
        self.authenticator.users().is_empty()
    }

    /// A number that changes with the users.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Called after a change of a datastore: if it has the users, they are read again.
    pub fn refresh_after_change_of(&self, changed: &Tree) {
        let is_theirs = |known: &Known| known.tree.has_same_anchor(changed);
        let is_of_users = self.known.lock().as_ref().is_some_and(is_theirs);
        if is_of_users && let Err(error) = self.refresh() {
            tracing::warn!(%error, "the users could not be read after a change");
        }
    }

    /// Replaces the certificates, in DER, of the authorities that the TLS server trusts. The map from certificates to
    /// names is made again, so this is the end of the logins of removed authorities.
    ///
    /// # Errors
    /// Those of [`Self::refresh`]; the map remains that of the earlier authorities.
    pub fn set_authorities(&self, authorities: Vec<Vec<u8>>) -> Result<()> {
        *self.authorities.lock() = authorities;
        self.read(Read::Always)
    }

    /// Reads the users again if they changed.
    ///
    /// # Errors
    /// Those of the store; the users remain those that were read last.
    pub fn refresh(&self) -> Result<()> {
        self.read(Read::IfChanged)
    }

    fn read(&self, when: Read) -> Result<()> {
        let mut known = self.known.lock();
        let Some(tree) = self.trees.with_module(SYSTEM_MODULE)? else {
            if known.take().is_some() || when == Read::Always {
                self.replace(Users::default(), Vec::new());
            }
            return Ok(());
        };
        let view = tree.view()?;
        let stamp = stamp(&view)?;
        let is_known = known
            .as_ref()
            .is_some_and(|known| known.stamp == stamp && known.tree.has_same_anchor(&tree));
        if is_known && when == Read::IfChanged {
            return Ok(());
        }
        let users = match Users::read(&view) {
            Ok(users) => users,
            Err(UsersError::Store(error)) => return Err(error),
            Err(error @ UsersError::TooMany) => {
                // Nobody can be let in by a part of the list, and nobody without credentials either.
                tracing::error!(%error, "the users remain those that were read before");
                return Ok(());
            }
        };
        self.replace(users, cert_maps::read(&view)?);
        *known = Some(Known { tree, stamp });
        Ok(())
    }

    fn replace(&self, users: Users, entries: Vec<MapEntry>) {
        self.authenticator.set_users(Arc::new(users));
        self.set_certificates(entries);
        self.generation.fetch_add(1, Ordering::Release);
    }

    fn set_certificates(&self, entries: Vec<MapEntry>) {
        let authorities = self.authorities.lock().clone();
        let entries = match entries.is_empty() {
            true => common_names(&authorities),
            false => entries,
        };
        match CertToName::new(entries, authorities) {
            Ok(map) => self.authenticator.set_certificates(Arc::new(map)),
            Err(error) => {
                tracing::error!(%error, "the map from certificates to names is unchanged")
            }
        }
    }
}

/// The map without configuration: the common names of all certificates of these authorities.
fn common_names(authorities: &[Vec<u8>]) -> Vec<MapEntry> {
    let entry = |(id, authority): (u32, &Vec<u8>)| MapEntry {
        id,
        fingerprint: Fingerprint::of(authority),
        map_type: MapType::CommonName,
    };
    (1..).zip(authorities).map(entry).collect()
}

/// The last change of `/ietf-system:system`.
fn stamp(view: &View) -> Result<Stamp> {
    let schema = view.schema();
    let module = schema.module_by_name(SYSTEM_MODULE);
    match module.and_then(|module| schema.child(None, module, "system")) {
        Some(system) => view.stamp(&InstancePath::root().child(system, Keys::None)),
        None => Ok(Stamp::default()),
    }
}
