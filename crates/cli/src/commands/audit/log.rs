//! The log that a command works on.

use std::sync::Arc;

use clap::Args;
use espalier_service::Service;
use espalier_service::audit::{AuditError, AuditPage, AuditQuery, AuditSettings};
use espalier_service::session::Session;
use serde_json::Value as Json;

use crate::endpoint::{self, OpenMode, Remote};
use crate::settings::{Connection, OutputOptions, Settings};
use espalier_terminal::{Failure, Result};

/// Options of the commands on the log.
#[derive(Args, Clone, Debug, Default)]
pub struct LogOption {
    #[command(flatten)]
    connection: Connection,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

/// The log of a store or of a server.
pub enum Log {
    Store {
        service: Service,
        session: Arc<Session>,
    },
    Server(Box<Remote>),
}

impl LogOption {
    /// Opens the log.
    pub fn open(&self, settings: Settings) -> Result<Log> {
        let mut settings = Settings::from(&self.connection).over(settings);
        // Modules belong to trees.
        settings.yang.clear();
        if let Some(url) = settings.server.clone() {
            return Ok(Log::Server(Box::new(Remote::new(&url, &settings)?)));
        }
        if settings.store.is_none() {
            return Err(Failure::usage("no store and no server is named")
                .hint("add --store embedded:DIR or --server URL"));
        }
        let store = endpoint::open_store_for_command(&settings, OpenMode::Existing)?;
        let service = Service::offline(store, None)?;
        let session = endpoint::command_session(&service, "")?;
        Ok(Log::Store { service, session })
    }
}

impl Log {
    /// A page of records.
    pub fn page(&self, query: &AuditQuery) -> Result<AuditPage> {
        match self {
            Self::Store { service, .. } => {
                let log = service.audit().log().map_err(failure)?;
                log.query(query).map_err(failure)
            }
            Self::Server(server) => server.audit_page(query),
        }
    }

    /// The settings.
    pub fn settings(&self) -> Result<AuditSettings> {
        match self {
            Self::Store { service, .. } => {
                let log = service.audit().log().map_err(failure)?;
                Ok((*log.settings()).clone())
            }
            Self::Server(server) => server.audit_settings(),
        }
    }

    /// Changes the settings with a JSON Merge Patch.
    pub fn change_settings(&self, patch: &Json) -> Result<AuditSettings> {
        match self {
            Self::Store { service, session } => {
                let changed = service.audit().change_settings(session, patch);
                changed.map_err(failure)
            }
            Self::Server(server) => server.change_audit_settings(patch),
        }
    }
}

/// An error of the log.
pub fn failure(error: AuditError) -> Failure {
    match error {
        AuditError::Io(error) => error.into(),
        error => Failure::data(error.to_string()),
    }
}
