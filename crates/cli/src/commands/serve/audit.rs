//! The audit log of a server: its copies, and the records of its start and its end.

use std::sync::Arc;

use espalier_service::Service;
use espalier_service::audit::{
    AuditEntry, AuditError, AuditOperation, AuditOutput, AuditSink, JsonLinesFile, Syslog,
    SyslogAddress,
};
use espalier_terminal::{Failure, Result};

use crate::commands::audit::failure;
use crate::settings::Settings;

/// Opens the log, with the copies that the settings name, and records the start.
///
/// # Errors
/// The log cannot be read; the file of the copies cannot be written.
pub fn start(service: &Service, settings: &Settings) -> Result<()> {
    if let Some(file) = &settings.audit_file {
        let output = JsonLinesFile::open(file)
            .map_err(|error| Failure::usage(error.to_string()).in_file(file.display()))?;
        add(service, output)?;
    }
    if let Some(address) = &settings.audit_syslog {
        let address: SyslogAddress = address
            .parse()
            .map_err(|error| Failure::usage(format!("--audit-syslog: {error}")))?;
        add(service, Syslog::new(address))?;
    }
    record(service, AuditOperation::ServerStart).map_err(failure)
}

fn add(service: &Service, output: impl AuditOutput) -> Result<()> {
    let sink = AuditSink::new(output)?;
    let log = service.audit().log().map_err(failure)?;
    log.add_sink(Arc::new(sink));
    Ok(())
}

/// Records the end, and stores what is pending.
pub fn stop(service: &Service) {
    if let Err(error) = record(service, AuditOperation::ServerStop) {
        tracing::warn!(%error, "the end of the server has no audit record");
    }
    if let Ok(log) = service.audit().log() {
        log.close();
    }
}

fn record(service: &Service, operation: AuditOperation) -> std::result::Result<(), AuditError> {
    let message = format!("version {}", env!("CARGO_PKG_VERSION"));
    let entry = AuditEntry {
        message,
        ..AuditEntry::new(operation)
    };
    service.audit().log()?.append(entry).map(drop)
}
