//! Opens the endpoint named by the settings.

use crate::endpoint::local::Local;
use crate::endpoint::remote::Remote;
use crate::endpoint::{Endpoint, OpenMode};
use crate::settings::Settings;
use espalier_terminal::{Failure, Result};

/// Opens the endpoint named by the settings. If they name modules, a missing store is created.
pub fn open(settings: &Settings) -> Result<Box<dyn Endpoint>> {
    open_with(settings, &|settings| {
        Local::open(settings, OpenMode::for_write(settings))
    })
}

/// Opens the endpoint for reading only: a missing store is an error, and so are other modules than those of the store.
pub fn open_existing(settings: &Settings) -> Result<Box<dyn Endpoint>> {
    open_with(settings, &Local::open_for_reading)
}

fn open_with(
    settings: &Settings,
    open_local: &dyn Fn(&Settings) -> Result<Local>,
) -> Result<Box<dyn Endpoint>> {
    match (&settings.store, &settings.server) {
        (Some(_), None) => Ok(Box::new(open_local(settings)?)),
        (None, Some(_)) if is_about_modules(settings) => Err(Failure::usage(
            "--dry-run, --drop-unknown and --fill are about a change of modules",
        )
        .hint("use `espalier upgrade --yang NEW --server URL`")),
        (None, Some(server)) if settings.yang.is_empty() => {
            Ok(Box::new(Remote::new(server, settings)?))
        }
        (None, Some(_)) => Err(Failure::usage(
            "--yang goes with --store: a server has its modules",
        )
        .hint("change its modules with `espalier upgrade --yang NEW --server URL`")),
        (None, None) => Err(Failure::usage("no store and no server is named")
            .hint("add --store embedded:DIR or --server URL, or set ESPALIER_STORE")),
        (Some(_), Some(_)) => {
            Err(Failure::usage("store and server exclude each other").hint("keep one of the two"))
        }
    }
}

/// Whether an option is given that is about a change of modules.
fn is_about_modules(settings: &Settings) -> bool {
    settings.dry_run || settings.drop_unknown || !settings.fill.is_empty()
}
