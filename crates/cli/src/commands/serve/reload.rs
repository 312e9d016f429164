//! SIGHUP: files and some settings are read again.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use espalier_protocols::server::Tls;
use espalier_service::Service;
use espalier_terminal::{Failure, Result};
use tokio::runtime::{Handle, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use crate::commands::serve::listen_options;
use crate::commands::serve::netconf::ReloadedNetconf;
use crate::settings::Settings;

/// What a server reads again: certificates, authorities, host keys, and the clients that it calls.
pub struct Reload {
    /// The options of the command, which have precedence over all other settings.
    pub flags: Settings,
    /// The configuration file of the command, if it named one.
    pub file: Option<PathBuf>,
    pub service: Service,
    /// The TLS of HTTP.
    pub tls: Option<Tls>,
    pub netconf: Option<ReloadedNetconf>,
}

impl Reload {
    /// Reloads at each SIGHUP, in a task of a runtime.
    ///
    /// # Errors
    /// The signal cannot be received.
    pub fn start(self, runtime: &Runtime) -> io::Result<()> {
        let _context = runtime.enter();
        let mut hangup = signal(SignalKind::hangup())?;
        let reload = Arc::new(self);
        tokio::spawn(async move {
            while hangup.recv().await.is_some() {
                let reload = Arc::clone(&reload);
                // Reads files and the store. The tasks of call home need the runtime.
                let runtime = Handle::current();
                let done = tokio::task::spawn_blocking(move || {
                    let _context = runtime.enter();
                    reload.run()
                });
                match done.await {
                    Ok(Ok(())) => {
                        tracing::info!("SIGHUP: certificates, keys and clients were read again")
                    }
                    Ok(Err(error)) => {
                        tracing::error!(%error, "SIGHUP: all settings remain as they were");
                    }
                    Err(error) => tracing::error!(%error, "SIGHUP: the settings could not be read"),
                }
            }
        });
        Ok(())
    }

    fn run(&self) -> Result<()> {
        let read = Settings::from_environment_and_file(self.file.as_deref())?;
        let settings = self.flags.clone().over(read);
        let tls = match &self.tls {
            Some(_) => listen_options::tls(&settings)?,
            None => None,
        };
        let netconf = self.netconf.as_ref();
        let netconf = netconf
            .map(|netconf| netconf.reload(&settings))
            .transpose()?;
        let mut authorities = netconf.unwrap_or_default();
        if let (Some(served), Some(tls)) = (&self.tls, &tls) {
            served.replace(tls);
            authorities.extend(tls.client_authorities());
        }
        authorities.sort_unstable();
        authorities.dedup();
        let service = &self.service;
        let accounts = service.accounts().set_authorities(authorities);
        accounts.map_err(|error| Failure::data(error.to_string()))?;
        service.close_invalid_logins();
        Ok(())
    }
}
