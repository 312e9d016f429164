//! The option `--store`, for commands on statistics and documents.

use clap::Args;
use espalier_store::Store;

use crate::endpoint::{self, OpenMode};
use crate::settings::{OutputOptions, Settings};
use espalier_terminal::{Failure, Result};

/// Options that every command of statistics and of documents has.
#[derive(Args, Clone, Debug, Default)]
pub struct StoreOption {
    /// The store: `embedded:DIR`, `file:DIR`, `sqlite:FILE`, the URL of an engine's server, or `memory:` for
    /// a store that ends with the command [env: ESPALIER_STORE]
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl StoreOption {
    fn settings(&self, settings: Settings, content: &str) -> Result<Settings> {
        let own = Settings {
            store: self.store.clone(),
            ..Settings::default()
        };
        let mut settings = own.over(settings);
        // Modules belong to trees: naming some creates no store here.
        settings.yang.clear();
        if settings.store.is_none() {
            let failure = Failure::usage(format!("{content} are kept in a store"));
            let hint = "add --store embedded:DIR";
            return Err(match settings.server {
                Some(server) => failure.hint(format!(
                    "{hint}; those of a server are at {server}/stats and {server}/documents"
                )),
                None => failure.hint(hint),
            });
        }
        Ok(settings)
    }

    /// Opens an existing store. `content` is what the command works on, `hint` is how to create it.
    pub fn store(&self, settings: Settings, content: &str, hint: &str) -> Result<Store> {
        let settings = self.settings(settings, content)?;
        let store = endpoint::open_store_for_command(&settings, OpenMode::Existing);
        store.map_err(|failure| failure.hint_of_making(hint))
    }

    /// Opens a store, which is created if it does not exist.
    pub fn new_store(&self, settings: Settings, content: &str) -> Result<Store> {
        endpoint::open_store_for_command(&self.settings(settings, content)?, OpenMode::Create)
    }
}
