//! The argument URL, for commands that work on a store and not through a server.

use clap::Args;

use crate::settings::{Access, Settings};
use espalier_terminal::{Failure, Result};

/// Arguments of `check`, `info` and `repair`.
#[derive(Args, Debug)]
pub struct StoreUrl {
    /// The URL of the store, as in --store
    #[arg(value_name = "URL", conflicts_with_all = ["store", "server"])]
    url: Option<String>,

    #[command(flatten)]
    access: Access,
}

impl StoreUrl {
    /// The settings with these arguments. Fails with the hint if they name a server.
    pub fn over(&self, settings: Settings, command: &str, hint: &str) -> Result<Settings> {
        let settings = Settings::from(&self.access)
            .over(settings)
            .with_store(self.url.as_deref());
        match settings.server {
            Some(_) => {
                let message = format!("{command} works on a store, not through a server");
                Err(Failure::usage(message).hint(hint))
            }
            None => Ok(settings),
        }
    }
}
