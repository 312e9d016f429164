//! The candidate datastore, one property for each test.

use espalier_store::{CommitOptions, Datastore, Edit, Resolution, Tree};
use espalier_yang::{ErrorTag, InstancePath};

use crate::fixture::{MODEL, data, first_tag, memory_tree, merge, path, text};

fn candidate(running: &Tree) -> Tree {
    running.sibling_datastore(Datastore::Candidate, "").unwrap()
}

fn default<'a>() -> CommitOptions<'a> {
    CommitOptions::default()
}

fn rows(tree: &Tree) -> u64 {
    let usage = tree.store().usage().unwrap();
    let candidate = espalier_store::Subspace::Candidate;
    let row = usage.iter().find(|(subspace, _)| *subspace == candidate);
    row.unwrap().1.keys
}

#[test]
fn a_candidate_shows_running_with_its_changes_and_a_commit_applies_them() {
    let running = memory_tree(MODEL);
    merge(
        &running,
        r#"{"m:top":"a","m:named":[{"name":"x","v":"1"}]}"#,
    );
    let candidate = candidate(&running);
    assert_eq!(text(&candidate), text(&running));
    merge(&candidate, r#"{"m:top":"b","m:named":[{"name":"y"}]}"#);
    assert_eq!(
        text(&running),
        r#"{"m:top":"a","m:named":[{"name":"x","v":"1"}]}"#
    );
    let both = r#"{"m:top":"b","m:named":[{"name":"x","v":"1"},{"name":"y"}]}"#;
    assert_eq!(text(&candidate), both);
    assert!(candidate.has_changes().unwrap());
    let commit = candidate.commit_candidate(default()).unwrap();
    assert_eq!((commit.version, commit.is_changed), (2, true));
    assert_eq!(text(&running), both);
    assert!(!candidate.has_changes().unwrap());
    assert!(!candidate.commit_candidate(default()).unwrap().is_changed);
}

#[test]
fn a_discarded_candidate_reads_as_running_and_leaves_one_row() {
    let running = memory_tree(MODEL);
    merge(&running, r#"{"m:top":"a"}"#);
    let candidate = candidate(&running);
    merge(&candidate, r#"{"m:top":"b","m:plain":{"x":"1"}}"#);
    candidate.discard(default()).unwrap();
    assert_eq!(text(&candidate), r#"{"m:top":"a"}"#);
    assert_eq!(rows(&running), 1);
}

#[test]
fn changes_that_are_reverted_by_edits_leave_nothing() {
    let running = memory_tree(MODEL);
    merge(&running, r#"{"m:top":"a"}"#);
    let candidate = candidate(&running);
    merge(&candidate, r#"{"m:named":[{"name":"x","v":"1"}]}"#);
    let gone = Edit::delete(path(running.schema(), "/m:named[name='x']"));
    candidate.commit(&[gone], default()).unwrap();
    assert!(!candidate.has_changes().unwrap());
    assert_eq!(rows(&running), 1);
}

#[test]
fn deleting_a_list_in_a_candidate_stores_ranges_and_not_its_entries() {
    let running = memory_tree(MODEL);
    let entries: Vec<String> = (0..500).map(|n| format!(r#"{{"name":"n{n}"}}"#)).collect();
    merge(
        &running,
        &format!(r#"{{"m:named":[{}]}}"#, entries.join(",")),
    );
    let candidate = candidate(&running);
    let all = Edit::delete(path(running.schema(), "/m:named"));
    candidate.commit(&[all], default()).unwrap();
    assert!(rows(&running) < 8, "{}", rows(&running));
    assert_eq!(text(&candidate), "{}");
    candidate.commit_candidate(default()).unwrap();
    assert_eq!(text(&running), "{}");
}

#[test]
fn private_candidates_do_not_see_each_other_and_need_a_session() {
    let running = memory_tree(MODEL);
    let one = running
        .sibling_datastore(Datastore::PrivateCandidate, "one")
        .unwrap();
    let two = running
        .sibling_datastore(Datastore::PrivateCandidate, "two")
        .unwrap();
    merge(&one, r#"{"m:top":"1"}"#);
    merge(&two, r#"{"m:plain":{"x":"2"}}"#);
    assert_eq!(text(&one), r#"{"m:top":"1"}"#);
    assert_eq!(text(&two), r#"{"m:plain":{"x":"2"}}"#);
    one.commit_candidate(default()).unwrap();
    two.commit_candidate(default()).unwrap();
    assert_eq!(text(&running), r#"{"m:top":"1","m:plain":{"x":"2"}}"#);
    let nobody = running.sibling_datastore(Datastore::PrivateCandidate, "");
    assert_eq!(first_tag(&nobody.map(|_| ())), Some(ErrorTag::InvalidValue));
}

#[test]
fn unrelated_changes_of_running_are_merged_silently() {
    let running = memory_tree(MODEL);
    merge(&running, r#"{"m:plain":{"x":"1","d":"1"}}"#);
    let candidate = candidate(&running);
    merge(&candidate, r#"{"m:plain":{"x":"2"}}"#);
    merge(&running, r#"{"m:plain":{"d":"2"},"m:top":"t"}"#);
    let merged = r#"{"m:top":"t","m:plain":{"x":"2","d":"2"}}"#;
    assert_eq!(text(&candidate), merged);
    candidate.validate().unwrap();
    candidate.commit_candidate(default()).unwrap();
    assert_eq!(text(&running), merged);
}

#[test]
fn a_leaf_that_both_changed_is_a_conflict_until_it_is_resolved() {
    for (resolution, expected) in [
        (Resolution::PreferRunning, "theirs"),
        (Resolution::PreferCandidate, "mine"),
    ] {
        let running = memory_tree(MODEL);
        merge(&running, r#"{"m:top":"was"}"#);
        let candidate = candidate(&running);
        merge(&candidate, r#"{"m:top":"mine","m:plain":{"x":"1"}}"#);
        merge(&running, r#"{"m:top":"theirs"}"#);
        assert!(text(&candidate).contains("mine"));
        let conflicts = candidate.conflicts().unwrap();
        assert_eq!(conflicts.len(), 1);
        assert_eq!(conflicts[0].path, "/m:top");
        let refused = candidate.commit_candidate(default());
        assert_eq!(first_tag(&refused), Some(ErrorTag::OperationFailed));
        let message = refused.unwrap_err().to_string();
        for part in ["was", "theirs", "mine", "/m:top"] {
            assert!(message.contains(part), "{message}");
        }
        let update = candidate.update(Resolution::RevertOnConflict, default());
        assert_eq!(first_tag(&update), Some(ErrorTag::OperationFailed));
        assert_eq!(candidate.update(resolution, default()).unwrap().len(), 1);
        assert!(candidate.conflicts().unwrap().is_empty());
        candidate.commit_candidate(default()).unwrap();
        let whole = format!(r#"{{"m:top":"{expected}","m:plain":{{"x":"1"}}}}"#);
        assert_eq!(text(&running), whole);
    }
}

#[test]
fn an_entry_deleted_in_running_and_changed_in_the_candidate_is_a_conflict() {
    for (resolution, expected) in [
        (Resolution::PreferRunning, "{}"),
        (
            Resolution::PreferCandidate,
            r#"{"m:named":[{"name":"x","v":"1","in":{"w":7}}]}"#,
        ),
    ] {
        let running = memory_tree(MODEL);
        merge(
            &running,
            r#"{"m:named":[{"name":"x","v":"1","in":{"w":1}}]}"#,
        );
        let candidate = candidate(&running);
        merge(&candidate, r#"{"m:named":[{"name":"x","in":{"w":7}}]}"#);
        let gone = Edit::delete(path(running.schema(), "/m:named[name='x']"));
        running.commit(&[gone], default()).unwrap();
        let conflicts = candidate.conflicts().unwrap();
        assert_eq!(conflicts.len(), 1, "{conflicts:?}");
        assert_eq!(conflicts[0].path, "/m:named[name='x']");
        candidate.update(resolution, default()).unwrap();
        candidate.commit_candidate(default()).unwrap();
        assert_eq!(text(&running), expected);
    }
}

#[test]
fn entries_that_both_append_to_a_list_ordered_by_user_are_all_kept() {
    let running = memory_tree(MODEL);
    merge(&running, r#"{"m:turn":["a"],"m:rule":[{"name":"first"}]}"#);
    let candidate = candidate(&running);
    merge(
        &candidate,
        r#"{"m:turn":["mine"],"m:rule":[{"name":"mine","match":[{"src":"s","dst":"d"}]}]}"#,
    );
    merge(
        &running,
        r#"{"m:turn":["theirs"],"m:rule":[{"name":"theirs"}]}"#,
    );
    assert_eq!(candidate.conflicts().unwrap(), []);
    candidate.commit_candidate(default()).unwrap();
    assert_eq!(
        text(&running),
        r#"{"m:turn":["a","theirs","mine"],"m:rule":[{"name":"first"},{"name":"theirs"},{"name":"mine","match":[{"src":"s","dst":"d"}]}]}"#
    );
    crate::fixture::assert_sound(running.store());
}

#[test]
fn nodes_of_two_cases_are_a_conflict() {
    for (resolution, expected) in [
        (Resolution::PreferRunning, r#"{"m:shoes":"theirs"}"#),
        (Resolution::PreferCandidate, r#"{"m:line":"mine"}"#),
    ] {
        let running = memory_tree(MODEL);
        let candidate = candidate(&running);
        merge(&candidate, r#"{"m:line":"mine"}"#);
        merge(&running, r#"{"m:shoes":"theirs"}"#);
        assert_eq!(candidate.conflicts().unwrap().len(), 1);
        candidate.update(resolution, default()).unwrap();
        candidate.commit_candidate(default()).unwrap();
        assert_eq!(text(&running), expected);
    }
}

#[test]
fn the_stamp_of_a_candidate_changes_with_it_and_with_running() {
    let running = memory_tree(MODEL);
    merge(&running, r#"{"m:plain":{"x":"1"}}"#);
    let candidate = candidate(&running);
    let plain = path(running.schema(), "/m:plain");
    let mut stamps = Vec::new();
    let mut note = |path: &InstancePath| {
        let stamp = candidate.view().unwrap().stamp(path).unwrap();
        assert!(!stamps.contains(&stamp), "{stamp:?}");
        stamps.push(stamp);
    };
    note(&plain);
    merge(&candidate, r#"{"m:plain":{"x":"2"}}"#);
    note(&plain);
    merge(&candidate, r#"{"m:plain":{"x":"3"}}"#);
    note(&plain);
    merge(&running, r#"{"m:plain":{"d":"9"}}"#);
    note(&plain);
    merge(&candidate, r#"{"m:plain":{"x":"4"}}"#);
    note(&plain);
    candidate.commit_candidate(default()).unwrap();
    note(&plain);
}

#[test]
fn intended_reads_as_running_and_is_read_only() {
    let running = memory_tree(MODEL);
    merge(&running, r#"{"m:top":"a"}"#);
    let intended = running.sibling_datastore(Datastore::Intended, "").unwrap();
    assert_eq!(text(&intended), text(&running));
    let edit = Edit::merge(
        InstancePath::root(),
        data(running.schema(), r#"{"m:top":"b"}"#),
    );
    let refused = intended.commit(&[edit], default());
    assert_eq!(first_tag(&refused), Some(ErrorTag::OperationNotSupported));
}

/// Running that keeps only one version of its history.
pub fn forgetful(model: &str) -> Tree {
    let running = memory_tree(model);
    let retention = espalier_store::Retention {
        versions: 1,
        age: None,
    };
    running.set_retention(retention).unwrap();
    running
}

/// A candidate whose base version is no longer in the history.
fn forgotten(mine: &str, theirs: &[Edit]) -> (Tree, Tree) {
    let running = forgetful(MODEL);
    merge(
        &running,
        r#"{"m:top":"was","m:named":[{"name":"x","in":{"w":1}},{"name":"y"}]}"#,
    );
    let candidate = candidate(&running);
    let edit = Edit::apply(
        InstancePath::root(),
        data(running.schema(), mine),
        espalier_yang::data::Operation::Merge,
    );
    candidate.commit(&[edit], default()).unwrap();
    running.commit(theirs, default()).unwrap();
    for number in 0..5 {
        merge(&running, &format!(r#"{{"m:plain":{{"x":"{number}"}}}}"#));
    }
    (running, candidate)
}

#[test]
fn a_candidate_works_without_its_base_version_in_the_history() {
    let (running, candidate) = forgotten(r#"{"m:top":"mine"}"#, &[]);
    candidate.commit_candidate(default()).unwrap();
    assert!(text(&running).contains("mine"));
}

#[test]
fn conflicts_are_reported_without_the_history_too() {
    let schema = memory_tree(MODEL).schema().clone();
    let change = |document: &str| Edit::merge(InstancePath::root(), data(&schema, document));
    let gone = || Edit::delete(path(&schema, "/m:named[name='x']"));
    let deleted = r#"{"m:named":[{"@":{"ietf-netconf:operation":"delete"},"name":"x"}]}"#;
    let cases = [
        (
            r#"{"m:top":"mine"}"#,
            change(r#"{"m:top":"theirs"}"#),
            "/m:top",
        ),
        (
            deleted,
            change(r#"{"m:named":[{"name":"x","in":{"w":2}}]}"#),
            "x",
        ),
        (
            r#"{"m:named":[{"name":"x","in":{"w":2}}]}"#,
            gone(),
            "/m:named",
        ),
        (
            r#"{"m:named":[{"name":"x","v":"new"}]}"#,
            gone(),
            "/m:named",
        ),
    ];
    for (mine, theirs, place) in cases {
        let (running, candidate) = forgotten(mine, &[theirs]);
        let conflicts = candidate.conflicts().unwrap();
        assert!(
            conflicts
                .iter()
                .any(|conflict| conflict.path.contains(place)),
            "{mine} {conflicts:?}"
        );
        assert!(candidate.commit_candidate(default()).is_err());
        candidate
            .update(Resolution::PreferRunning, default())
            .unwrap();
        let before = text(&running);
        candidate.commit_candidate(default()).unwrap();
        assert_eq!(text(&running), before, "{mine}");
        crate::fixture::assert_sound(running.store());
    }
}

#[test]
fn additions_of_running_to_a_created_node_of_the_candidate_change_its_stamp() {
    let running = memory_tree(MODEL);
    merge(&running, r#"{"m:top":"a"}"#);
    let candidate = candidate(&running);
    merge(
        &candidate,
        r#"{"m:plain":{"inner":{"deep":[{"k":1,"v":"x"}]}}}"#,
    );
    let stamps = || {
        let view = candidate.view().unwrap();
        ["/plain", "/plain/inner"].map(|at| view.stamp(&path(running.schema(), at)).unwrap())
    };
    let before = stamps();
    merge(&running, r#"{"m:plain":{"inner":{"deep":[{"k":2}]}}}"#);
    let merged = r#"{"m:top":"a","m:plain":{"inner":{"deep":[{"k":1,"v":"x"},{"k":2}]}}}"#;
    assert_eq!(text(&candidate), merged);
    for (before, after) in before.into_iter().zip(stamps()) {
        assert_ne!(before, after);
    }
}

#[test]
fn a_replaced_ancestor_in_running_is_a_conflict_without_the_history_too() {
    let schema = memory_tree(MODEL).schema().clone();
    let replaced = data(&schema, r#"{"m:named":[{"name":"x","in":{"w":2}}]}"#);
    let (running, candidate) = forgotten(
        r#"{"m:named":[{"name":"x","in":{"@":{"ietf-netconf:operation":"delete"}}}]}"#,
        &[Edit::replace(InstancePath::root(), replaced)],
    );
    assert_eq!(candidate.conflicts().unwrap().len(), 1);
    assert!(candidate.commit_candidate(default()).is_err());
    assert!(text(&running).contains(r#""in":{"w":2}"#));
}

#[test]
fn a_replaced_sibling_in_running_has_another_stamp_in_the_candidate() {
    let running = memory_tree(MODEL);
    let with = |y: u8| format!(r#"{{"m:plain":{{"x":"a","inner":{{"y":{y}}}}}}}"#);
    merge(&running, &with(1));
    let candidate = candidate(&running);
    merge(&candidate, r#"{"m:plain":{"colour":["green"]}}"#);
    let stamp = || {
        let view = candidate.view().unwrap();
        view.stamp(&path(running.schema(), "/plain/inner")).unwrap()
    };
    let before = stamp();
    let replaced = Edit::replace(InstancePath::root(), data(running.schema(), &with(2)));
    running.commit(&[replaced], default()).unwrap();
    assert!(text(&candidate).contains(r#""inner":{"y":2}"#));
    assert_ne!(stamp(), before);
}

#[test]
fn a_sibling_loaded_into_running_has_another_stamp_each_time() {
    for running in [memory_tree(MODEL), forgetful(MODEL)] {
        let with = |y: u8| format!(r#"{{"m:top":"t","m:plain":{{"x":"a","inner":{{"y":{y}}}}}}}"#);
        let load = |y: u8| {
            crate::fixture::load_json(&running, espalier_store::LoadMode::Replace, &with(y))
                .unwrap();
        };
        load(1);
        let candidate = candidate(&running);
        merge(&candidate, r#"{"m:plain":{"colour":["green"]}}"#);
        let inner = path(running.schema(), "/plain/inner");
        let stamp = || candidate.view().unwrap().stamp(&inner).unwrap();
        let mut stamps = vec![stamp()];
        for y in 2..6 {
            load(y);
            assert!(text(&candidate).contains(&format!(r#""inner":{{"y":{y}}}"#)));
            assert!(!stamps.contains(&stamp()), "{stamps:?} before {y}");
            stamps.push(stamp());
        }
    }
}

#[test]
fn a_node_reloaded_in_running_is_a_conflict_if_the_candidate_deleted_it() {
    let (running, candidate) = forgotten(
        r#"{"m:named":[{"@":{"ietf-netconf:operation":"delete"},"name":"x"}]}"#,
        &[],
    );
    let loaded = r#"{"m:named":[{"name":"x","in":{"w":2}}]}"#;
    crate::fixture::load_json(&running, espalier_store::LoadMode::Replace, loaded).unwrap();
    assert_eq!(candidate.conflicts().unwrap().len(), 1);
    assert!(candidate.commit_candidate(default()).is_err());
    assert!(text(&running).contains(r#""in":{"w":2}"#));
}

#[test]
fn an_entry_is_found_by_its_keys_without_the_history_if_running_reused_its_position() {
    let running = forgetful(MODEL);
    merge(&running, r#"{"m:rule":[{"name":"a"},{"name":"b"}]}"#);
    let candidate = candidate(&running);
    merge(&candidate, r#"{"m:rule":[{"name":"b","action":"deny"}]}"#);
    let loaded = r#"{"m:rule":[{"name":"b"},{"name":"c"}]}"#;
    crate::fixture::load_json(&running, espalier_store::LoadMode::Replace, loaded).unwrap();
    merge(&running, r#"{"m:plain":{"x":"1"}}"#);
    candidate.commit_candidate(default()).unwrap();
    assert!(text(&running).contains(r#"[{"name":"b","action":"deny"},{"name":"c"}]"#));
    crate::fixture::assert_sound(running.store());
}

#[test]
fn an_edit_that_stores_the_candidate_again_keeps_the_place_of_its_entry() {
    let running = forgetful(MODEL);
    merge(&running, r#"{"m:rule":[{"name":"a"},{"name":"b"}]}"#);
    let candidate = candidate(&running);
    merge(&candidate, r#"{"m:turn":["mine"]}"#);
    // Both put a value at the same position, so that the candidate's value gets another position.
    merge(&running, r#"{"m:turn":["theirs"]}"#);
    merge(
        &candidate,
        r#"{"m:rule":[{"name":"b","match":[{"src":1,"dst":"d"}]}]}"#,
    );
    let loaded = r#"{"m:rule":[{"name":"b"},{"name":"c"}]}"#;
    crate::fixture::load_json(&running, espalier_store::LoadMode::Replace, loaded).unwrap();
    merge(&running, r#"{"m:plain":{"x":"1"}}"#);
    candidate
        .update(Resolution::PreferCandidate, default())
        .unwrap();
    candidate.commit_candidate(default()).unwrap();
    let expected = r#"{"name":"b","match":[{"src":1,"dst":"d"}]},{"name":"c"}"#;
    assert!(text(&running).contains(expected), "{}", text(&running));
    crate::fixture::assert_sound(running.store());
}
