//! Texts of any size and content are bounded and stay text.

use espalier_service::audit::{
    AuditEntry, AuditResult, AuditTarget, MESSAGE_BYTES_MAX, NAME_BYTES_MAX, PATH_BYTES_MAX,
    PATHS_MAX, SYSLOG_LINE_BYTES_MAX, TRUNCATION_MARK, syslog_line, write_json_line,
};

use crate::fixture::{Fixture, append, edit};

const HOSTILE: &str = "a\0\n\r\u{1b}[31m\"\\]\u{7f}\u{85}\u{2028}\u{202e}ß😀";

fn stored(entry: AuditEntry) -> espalier_service::audit::AuditRecord {
    let fixture = Fixture::new("memory:");
    let log = fixture.log();
    append(&log, entry);
    log.close();
    fixture.records().remove(0)
}

/// An entry in which every text is `text`.
fn filled(text: &str, paths: usize) -> AuditEntry {
    let text = || text.to_owned();
    AuditEntry {
        session: Some(text()),
        transport: Some(text()),
        peer: Some(text()),
        target: Some(AuditTarget::Datastore {
            dataspace: text(),
            anchor: text(),
            datastore: text(),
        }),
        paths: vec![text(); paths],
        result: AuditResult::Error(text()),
        ..edit(&text(), &text())
    }
}

#[test]
fn control_characters_are_kept_in_the_log_and_escaped_in_lines() {
    let record = stored(filled(HOSTILE, 1));
    assert_eq!(record.entry, filled(HOSTILE, 1));
    let mut json = Vec::new();
    write_json_line(&record, &mut json).expect("written");
    let json = String::from_utf8(json).expect("text");
    assert_eq!(json.matches('\n').count(), 1);
    assert!(json.ends_with("}\n") && !json.contains(['\0', '\r', '\u{1b}']));
    let line = syslog_line(&record, "host name\n", 1);
    assert!(
        !line.chars().any(char::is_control) && !line.contains('\u{2028}'),
        "{line}"
    );
    assert!(
        line.starts_with("<108>1 2025-03-05T12:00:00.000Z hostname espalier 1 edit ["),
        "{line}"
    );
    assert!(line.contains(r#"#033[31m\"\\\]#177"#), "{line}");
}

#[test]
fn long_texts_are_truncated_at_a_character_boundary_with_a_mark() {
    for character in ["x", "ß", "😀", "\0", "\""] {
        let text = character.repeat((1 << 20) / character.len());
        let record = stored(filled(&text, 1000));
        let entry = &record.entry;
        let is_bounded = |text: &str, bytes_max: usize| {
            let start = text.strip_suffix(TRUNCATION_MARK).expect("a mark");
            assert!(text.len() <= bytes_max && text.len() > bytes_max - 4);
            assert!(start.chars().all(|found| character.starts_with(found)));
        };
        is_bounded(&entry.message, MESSAGE_BYTES_MAX);
        is_bounded(entry.user.as_deref().expect("a user"), NAME_BYTES_MAX);
        is_bounded(entry.peer.as_deref().expect("a peer"), NAME_BYTES_MAX);
        is_bounded(entry.result.name(), NAME_BYTES_MAX);
        assert_eq!(
            (entry.paths.len(), entry.paths_omitted),
            (PATHS_MAX, 1000 - PATHS_MAX as u64)
        );
        entry
            .paths
            .iter()
            .for_each(|path| is_bounded(path, PATH_BYTES_MAX));
        let line = syslog_line(&record, &text, 1);
        assert!(line.len() <= SYSLOG_LINE_BYTES_MAX, "{}", line.len());
        assert!(line.matches(" [espalier@32473 ").count() == 1 && line.contains("] "));
    }
}
