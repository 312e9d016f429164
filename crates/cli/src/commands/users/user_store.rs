//! The store with the users.

use std::sync::Arc;

use clap::Args;
use espalier_service::Service;
use espalier_service::session::Session;
use espalier_store::{Store, Tree};

use crate::commands::store_option::StoreOption;
use crate::endpoint;
use crate::settings::{OutputOptions, Settings};
use espalier_terminal::{Failure, Result};

/// What the commands work on, for errors.
const CONTENT: &str = "users";

/// The service of a store, and the session of the command.
pub struct OpenService {
    pub service: Service,
    pub session: Arc<Session>,
}

/// Options of the commands on users.
#[derive(Args, Clone, Debug, Default)]
pub struct UserStore {
    #[command(flatten)]
    store_option: StoreOption,

    /// The dataspace that is served [env: ESPALIER_DATASPACE] [default: default]
    #[arg(long, value_name = "NAME")]
    dataspace: Option<String>,

    /// The anchor that is served. If its models have ietf-system and ietf-netconf-acm, users and rules are data of it
    /// [env: ESPALIER_ANCHOR] [default: default]
    #[arg(long, value_name = "NAME")]
    anchor: Option<String>,
}

impl UserStore {
    /// The form of the output.
    pub fn output_options(&self) -> OutputOptions {
        self.store_option.output_options
    }

    /// The service of the store, with the users as they are now.
    pub fn service(&self, settings: Settings) -> Result<OpenService> {
        let hint = "create it with `espalier user add NAME --admin --store URL`";
        let store = self.store_option.store(settings.clone(), CONTENT, hint)?;
        self.service_of(store, settings)
    }

    /// As [`Self::service`], of a store that is created if it does not exist.
    pub fn new_service(&self, settings: Settings) -> Result<OpenService> {
        let store = self.store_option.new_store(settings.clone(), CONTENT)?;
        self.service_of(store, settings)
    }

    fn service_of(&self, store: Store, settings: Settings) -> Result<OpenService> {
        let tree = self.served(&store, settings)?;
        let service = Service::offline(store, tree)?;
        service.accounts().refresh()?;
        let session = endpoint::command_session(&service, "")?;
        Ok(OpenService { service, session })
    }

    /// The served datastore; `None` if there is no such anchor.
    fn served(&self, store: &Store, settings: Settings) -> Result<Option<Tree>> {
        let settings = Settings {
            dataspace: self.dataspace.clone(),
            anchor: self.anchor.clone(),
            ..Settings::default()
        }
        .over(Settings {
            datastore: None,
            validation: None,
            ..settings
        });
        let names = (settings.dataspace(), settings.anchor());
        match store.anchor(names.0, names.1) {
            Ok(_) => endpoint::tree_of(store, &settings).map(Some),
            Err(espalier_store::Error::Unknown { .. }) if self.anchor.is_none() => Ok(None),
            Err(error) => Err(Failure::from(error)),
        }
    }
}
