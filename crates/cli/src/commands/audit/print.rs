//! Records as text.

use espalier_service::audit::AuditRecord;
use espalier_service::notifications::time_text;

use espalier_terminal::output::escaped;

/// One line: time, user, operation, result, target, version, paths, origin, message.
pub fn line(record: &AuditRecord) -> String {
    let entry = &record.entry;
    let mut words = vec![
        time_text(record.time),
        entry.user.clone().unwrap_or_else(|| "-".to_owned()),
        entry.operation.to_string(),
        entry.result.name().to_owned(),
    ];
    words.extend(entry.target.as_ref().map(ToString::to_string));
    words.extend(entry.version.map(|version| format!("version {version}")));
    words.extend(entry.paths.iter().cloned());
    if entry.paths_omitted > 0 {
        words.push(format!("and {} more", entry.paths_omitted));
    }
    let origin = [
        entry.transport.clone(),
        entry.peer.clone(),
        entry.session.as_ref().map(|id| format!("session {id}")),
    ];
    let origin: Vec<String> = origin.into_iter().flatten().collect();
    if !origin.is_empty() {
        words.push(format!("({})", origin.join(", ")));
    }
    if !entry.message.is_empty() {
        words.push(format!("– {}", entry.message));
    }
    escaped(&words.join("  ")).into_owned()
}
