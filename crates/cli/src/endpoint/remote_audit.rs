//! The audit log of a server.

use espalier_service::audit::{AuditPage, AuditQuery, AuditRecord, AuditSequence, AuditSettings};
use serde::Deserialize;
use serde_json::Value as Json;

use super::remote::Remote;
use super::remote_versions::read_json;
use espalier_terminal::Result;
use espalier_terminal::path::percent_encoded;

/// The path of the log in `serve`.
const AUDIT_PATH: &str = "/audit";

/// The path of its settings.
const SETTINGS_PATH: &str = "/audit/settings";

/// A page, in responses.
#[derive(Deserialize)]
struct PageBody {
    records: Vec<AuditRecord>,
    next: Option<AuditSequence>,
}

impl Remote {
    /// A page of the audit log.
    pub fn audit_page(&self, query: &AuditQuery) -> Result<AuditPage> {
        let parameters = query.parameters().into_iter();
        let parameters: Vec<String> = parameters
            .map(|(name, value)| format!("{name}={}", percent_encoded(&value)))
            .collect();
        let path = format!("{AUDIT_PATH}?{}", parameters.join("&"));
        let PageBody { records, next } = read_json(self.get(&path, "application/json")?)?;
        Ok(AuditPage {
            records,
            next,
            ..AuditPage::default()
        })
    }

    /// The settings of the audit log.
    pub fn audit_settings(&self) -> Result<AuditSettings> {
        read_json(self.get(SETTINGS_PATH, "application/json")?)
    }

    /// Changes them with a JSON Merge Patch.
    pub fn change_audit_settings(&self, patch: &Json) -> Result<AuditSettings> {
        read_json(self.patch_json(SETTINGS_PATH, patch)?)
    }
}
