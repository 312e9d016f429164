//! Write access while a session holds a lock.

use espalier_store::{CommitOptions, Datastore, Edit, LoadMode, LoadOptions, Tree};
use espalier_yang::{ErrorTag, InstancePath};

use crate::fixture::{MODEL, data, first_tag, memory_tree, merge, path, text};

fn by(session: &str) -> CommitOptions<'_> {
    CommitOptions {
        session,
        ..CommitOptions::default()
    }
}

fn edit(tree: &Tree, session: &str, document: &str) -> Result<(), ErrorTag> {
    let edit = Edit::merge(InstancePath::root(), data(tree.schema(), document));
    let result = tree.commit(&[edit], by(session));
    first_tag(&result).map_or(Ok(()), Err)
}

fn tag<T: std::fmt::Debug>(result: Result<T, espalier_store::Error>) -> Option<ErrorTag> {
    first_tag(&result)
}

#[test]
fn a_locked_datastore_is_writable_by_its_session_only() {
    let running = memory_tree(MODEL);
    for datastore in [Datastore::Running, Datastore::Candidate, Datastore::Startup] {
        let tree = running.sibling_datastore(datastore, "").unwrap();
        tree.lock("one").unwrap();
        for (session, expected) in [
            ("one", Ok(())),
            ("two", Err(ErrorTag::InUse)),
            ("", Err(ErrorTag::InUse)),
        ] {
            assert_eq!(
                edit(&tree, session, r#"{"m:top":"t"}"#),
                expected,
                "{datastore:?} {session}"
            );
        }
        assert_eq!(tag(tree.lock("two")), Some(ErrorTag::LockDenied));
        assert_eq!(tag(tree.lock("one")), Some(ErrorTag::LockDenied));
        assert_eq!(tag(tree.unlock("two")), Some(ErrorTag::OperationFailed));
        let message = tree.lock("two").unwrap_err().to_string();
        assert!(
            message.contains("“one”") && message.contains("--force"),
            "{message}"
        );
        tree.unlock("one").unwrap();
        if datastore.is_candidate() {
            tree.discard(by("")).unwrap();
        }
        assert_eq!(edit(&tree, "two", r#"{"m:top":"u"}"#), Ok(()));
    }
}

#[test]
fn a_lock_blocks_loads_copies_and_commits_of_candidates() {
    let running = memory_tree(MODEL);
    let candidate = running.sibling_datastore(Datastore::Candidate, "").unwrap();
    let startup = running.sibling_datastore(Datastore::Startup, "").unwrap();
    merge(&candidate, r#"{"m:top":"c"}"#);
    running.lock("one").unwrap();
    assert_eq!(
        tag(candidate.commit_candidate(by("two"))),
        Some(ErrorTag::InUse)
    );
    assert_eq!(
        tag(running.copy_from(&startup, by("two"))),
        Some(ErrorTag::InUse)
    );
    for mode in [LoadMode::Merge, LoadMode::Replace, LoadMode::Create] {
        let options = LoadOptions {
            mode,
            session: "two",
            ..LoadOptions::default()
        };
        let document = data(running.schema(), r#"{"m:top":"l"}"#);
        let result = running.load(options, &mut |sink| {
            document
                .emit(sink)
                .map_err(|_| espalier_store::Error::Stopped)
        });
        assert_eq!(tag(result), Some(ErrorTag::InUse));
    }
    candidate.commit_candidate(by("one")).unwrap();
    assert_eq!(text(&running), r#"{"m:top":"c"}"#);
    running.break_lock().unwrap();
    running.copy_from(&startup, by("two")).unwrap();
    assert_eq!(text(&running), "{}");
}

#[test]
fn a_locked_candidate_cannot_be_committed_or_discarded_by_others() {
    let running = memory_tree(MODEL);
    let candidate = running.sibling_datastore(Datastore::Candidate, "").unwrap();
    candidate.lock("one").unwrap();
    edit(&candidate, "one", r#"{"m:top":"c"}"#).unwrap();
    assert_eq!(
        tag(candidate.commit_candidate(by("two"))),
        Some(ErrorTag::InUse)
    );
    assert_eq!(tag(candidate.discard(by("two"))), Some(ErrorTag::InUse));
    running.store().end_session("one").unwrap();
    assert!(!candidate.has_changes().unwrap());
    assert!(candidate.locks().unwrap().lock.is_none());
}

#[test]
fn a_candidate_with_changes_of_others_cannot_be_locked() {
    let running = memory_tree(MODEL);
    let candidate = running.sibling_datastore(Datastore::Candidate, "").unwrap();
    edit(&candidate, "one", r#"{"m:top":"c"}"#).unwrap();
    assert_eq!(tag(candidate.lock("two")), Some(ErrorTag::LockDenied));
    candidate.lock("one").unwrap();
    candidate.unlock("one").unwrap();
    candidate.discard(by("one")).unwrap();
    candidate.lock("two").unwrap();
}

#[test]
fn partial_locks_block_changes_of_their_nodes() {
    let running = memory_tree(MODEL);
    merge(
        &running,
        r#"{"m:named":[{"name":"x","in":{"w":1}},{"name":"y"}],"m:plain":{"x":"1"}}"#,
    );
    let schema = running.schema().clone();
    let x = path(&schema, "/m:named[name='x']");
    let lock = running
        .partial_lock(std::slice::from_ref(&x), "one")
        .unwrap();
    let changes = [
        (r#"{"m:named":[{"name":"x","v":"2"}]}"#, false),
        (r#"{"m:named":[{"name":"x","in":{"w":2}}]}"#, false),
        (r#"{"m:named":[{"name":"y","v":"2"}]}"#, true),
        (r#"{"m:plain":{"x":"2"}}"#, true),
    ];
    for (document, is_free) in changes {
        let expected = if is_free {
            Ok(())
        } else {
            Err(ErrorTag::InUse)
        };
        assert_eq!(edit(&running, "two", document), expected, "{document}");
        assert_eq!(edit(&running, "one", document), Ok(()), "{document}");
    }
    for around in ["/m:named", "/m:named[name='x']"] {
        let gone = Edit::delete(path(&schema, around));
        assert_eq!(
            tag(running.commit(&[gone], by("two"))),
            Some(ErrorTag::InUse),
            "{around}"
        );
    }
    let inner = path(&schema, "/m:named[name='x']/in");
    let whole = path(&schema, "/m:named");
    for meeting in [&inner, &whole, &x] {
        let result = running.partial_lock(std::slice::from_ref(meeting), "two");
        assert_eq!(tag(result), Some(ErrorTag::LockDenied));
    }
    assert_eq!(tag(running.lock("two")), Some(ErrorTag::LockDenied));
    let y = running
        .partial_lock(&[path(&schema, "/m:named[name='y']")], "two")
        .unwrap();
    assert_eq!(
        tag(running.partial_unlock(lock.id, "two")),
        Some(ErrorTag::InvalidValue)
    );
    assert_eq!(
        tag(running.partial_unlock(99, "two")),
        Some(ErrorTag::InvalidValue)
    );
    running.partial_unlock(lock.id, "one").unwrap();
    running.break_partial_lock(y.id).unwrap();
    assert_eq!(running.locks().unwrap(), espalier_store::Locks::default());
    running.lock("two").unwrap();
}

#[test]
fn locks_are_durable_and_apply_to_other_processes() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("embedded:{}?durability=relaxed", directory.path().display());
    {
        let running = crate::fixture::open_tree(espalier_drivers::open(&url).unwrap(), MODEL);
        running.lock("one").unwrap();
        let plain = path(running.schema(), "/m:plain");
        let private = running
            .sibling_datastore(Datastore::PrivateCandidate, "one")
            .unwrap();
        merge(&private, r#"{"m:top":"p"}"#);
        running.partial_lock(&[plain], "one").unwrap();
    }
    let running = crate::fixture::open_tree(espalier_drivers::open(&url).unwrap(), MODEL);
    assert_eq!(
        edit(&running, "two", r#"{"m:top":"t"}"#),
        Err(ErrorTag::InUse)
    );
    assert_eq!(running.locks().unwrap().partial.len(), 1);
    running.store().end_session("one").unwrap();
    assert_eq!(edit(&running, "two", r#"{"m:top":"t"}"#), Ok(()));
    let private = running
        .sibling_datastore(Datastore::PrivateCandidate, "one")
        .unwrap();
    assert!(!private.has_changes().unwrap());
}

#[test]
fn locks_need_a_session_and_a_lockable_datastore() {
    let running = memory_tree(MODEL);
    assert_eq!(tag(running.lock("")), Some(ErrorTag::InvalidValue));
    assert_eq!(
        tag(running.lock(&"x".repeat(65))),
        Some(ErrorTag::InvalidValue)
    );
    let intended = running.sibling_datastore(Datastore::Intended, "").unwrap();
    assert_eq!(
        tag(intended.lock("s")),
        Some(ErrorTag::OperationNotSupported)
    );
    let leaf = path(running.schema(), "/m:top");
    assert_eq!(
        tag(running.partial_lock(&[leaf], "s")),
        Some(ErrorTag::OperationNotSupported)
    );
    assert_eq!(
        tag(running.partial_lock(&[], "s")),
        Some(ErrorTag::InvalidValue)
    );
}
