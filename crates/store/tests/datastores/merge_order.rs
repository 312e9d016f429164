//! Candidates over a changed running, where both changed lists ordered by user: each test is one case that
//! merging key by key and position by position handled wrong.

use espalier_store::{CommitOptions, Datastore, Edit, Resolution, Tree};
use espalier_yang::InstancePath;

use crate::candidate::forgetful;
use crate::fixture::{MODEL, assert_sound, commit, data, memory_tree, path, text};

/// Deletes paths, merges documents; each in its own commit.
fn change(tree: &Tree, changes: &[&str]) {
    for change in changes {
        let edit = match change.starts_with('/') {
            true => Edit::delete(path(tree.schema(), change)),
            false => Edit::merge(InstancePath::root(), data(tree.schema(), change)),
        };
        commit(tree, &[edit]).unwrap_or_else(|error| panic!("{change}: {error}"));
    }
}

/// Puts a value of `turn` first.
fn first(value: &str) -> String {
    format!(r#"{{"m:turn":["{value}"],"@m:turn":[{{"yang:insert":"first"}}]}}"#)
}

/// Puts a value of `turn` last.
fn last(value: &str) -> String {
    format!(r#"{{"m:turn":["{value}"],"@m:turn":[{{"yang:insert":"last"}}]}}"#)
}

fn after(value: &str, neighbour: &str) -> String {
    format!(
        r#"{{"m:turn":["{value}"],"@m:turn":[{{"yang:insert":"after","yang:value":"{neighbour}"}}]}}"#
    )
}

fn put_rule(name: &str, how: &str) -> String {
    format!(r#"{{"m:rule":[{{"name":"{name}","@":{{"yang:insert":"{how}"}}}}]}}"#)
}

fn both(start: &str, mine: &[&str], theirs: &[&str]) -> (Tree, Tree) {
    both_of(MODEL, start, mine, theirs)
}

fn both_of(model: &str, start: &str, mine: &[&str], theirs: &[&str]) -> (Tree, Tree) {
    let running = memory_tree(model);
    change(&running, &[start]);
    let candidate = running.sibling_datastore(Datastore::Candidate, "").unwrap();
    change(&candidate, mine);
    change(&running, theirs);
    (running, candidate)
}

fn commit_candidate(running: &Tree, candidate: &Tree, expected: &str) {
    assert_eq!(candidate.conflicts().unwrap(), []);
    assert_eq!(text(candidate), expected);
    candidate
        .commit_candidate(CommitOptions::default())
        .unwrap();
    assert_eq!(text(running), expected);
    assert_sound(running.store());
}

fn merges(start: &str, mine: &[&str], theirs: &[&str], expected: &str) {
    let (running, candidate) = both(start, mine, theirs);
    commit_candidate(&running, &candidate, expected);
}

/// One conflict of this path, resolved either way.
fn conflicts(
    start: &str,
    mine: &[&str],
    theirs: &[&str],
    place: &str,
    [running_wins, candidate_wins]: [&str; 2],
) {
    for (resolution, expected) in [
        (Resolution::PreferRunning, running_wins),
        (Resolution::PreferCandidate, candidate_wins),
    ] {
        let (running, candidate) = both(start, mine, theirs);
        let conflicts = candidate.conflicts().unwrap();
        let paths: Vec<&str> = conflicts.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(paths, [place]);
        candidate
            .update(resolution, CommitOptions::default())
            .unwrap();
        commit_candidate(&running, &candidate, expected);
    }
}

const TURNS: &str = r#"{"m:turn":["a","b","c"]}"#;
const RULES: &str = r#"{"m:rule":[{"name":"a"},{"name":"b"},{"name":"c"}]}"#;

#[test]
fn an_entry_that_running_deleted_and_the_candidate_moved_is_a_conflict() {
    conflicts(
        TURNS,
        &[&first("c")],
        &["/turn[.='c']"],
        "/m:turn[.='c']",
        [r#"{"m:turn":["a","b"]}"#, r#"{"m:turn":["c","a","b"]}"#],
    );
}

#[test]
fn an_entry_that_the_candidate_deleted_and_running_moved_is_a_conflict() {
    conflicts(
        RULES,
        &["/rule[name='c']"],
        &[&put_rule("c", "first")],
        "/m:rule[name='c']",
        [
            r#"{"m:rule":[{"name":"c"},{"name":"a"},{"name":"b"}]}"#,
            r#"{"m:rule":[{"name":"a"},{"name":"b"}]}"#,
        ],
    );
}

#[test]
fn an_entry_that_both_moved_is_a_conflict_about_its_place_alone() {
    conflicts(
        TURNS,
        &[&first("b")],
        &[&last("b")],
        "/m:turn[.='b']",
        [r#"{"m:turn":["a","c","b"]}"#, r#"{"m:turn":["b","a","c"]}"#],
    );
}

#[test]
fn an_entry_that_both_created_at_different_places_exists_once() {
    merges(
        TURNS,
        &[&first("x"), &last("mine")],
        &[&last("theirs"), &last("x")],
        r#"{"m:turn":["a","b","c","theirs","x","mine"]}"#,
    );
}

#[test]
fn an_entry_deleted_and_created_again_before_its_old_place_is_not_deleted() {
    merges(
        TURNS,
        &["/turn[.='b']", &first("b")],
        &["/turn[.='c']"],
        r#"{"m:turn":["b","a"]}"#,
    );
}

#[test]
fn an_entry_whose_position_the_candidate_reused_is_deleted() {
    merges(
        r#"{"m:turn":["a","b"]}"#,
        &["/turn[.='b']", &last("x")],
        &["/turn[.='a']"],
        r#"{"m:turn":["x"]}"#,
    );
}

#[test]
fn a_list_that_the_candidate_recreated_keeps_its_order() {
    let port = |value: u16| {
        format!(
            r#"{{"m:rule":[{{"name":"a","match":[{{"src":"s","dst":"d","port":[{value}],"@port":[{{"yang:insert":"first"}}]}}]}}]}}"#
        )
    };
    let start =
        r#"{"m:turn":["t"],"m:rule":[{"name":"a","match":[{"src":"s","dst":"d","port":[1,2]}]}]}"#;
    merges(
        start,
        &["/rule", &port(1), &port(3), &port(2)],
        &["/turn[.='t']"],
        r#"{"m:rule":[{"name":"a","match":[{"src":"s","dst":"d","port":[2,3,1]}]}]}"#,
    );
}

#[test]
fn lists_that_running_created_in_an_entry_deleted_by_the_candidate_are_deleted() {
    let theirs = r#"{"m:rule":[{"name":"b","match":[{"src":"s","dst":"d","port":[2,1]}]}]}"#;
    conflicts(
        RULES,
        &["/rule[name='b']"],
        &[theirs],
        "/m:rule[name='b']",
        [
            r#"{"m:rule":[{"name":"a"},{"name":"b","match":[{"src":"s","dst":"d","port":[2,1]}]},{"name":"c"}]}"#,
            r#"{"m:rule":[{"name":"a"},{"name":"c"}]}"#,
        ],
    );
}

#[test]
fn changes_of_running_in_an_entry_moved_by_the_candidate_move_along() {
    let start = r#"{"m:rule":[{"name":"a"},{"name":"b","action":"deny","match":[{"src":"s","dst":"d","port":[2,1]},{"src":"t","dst":"d"}]}]}"#;
    let theirs = r#"{"m:rule":[{"name":"b","action":"permit","match":[{"src":"s","dst":"d","port":[3],"option":{"log":true}}]}]}"#;
    merges(
        start,
        &[&put_rule("b", "first")],
        &[theirs, "/rule[name='b']/match[src='t'][dst='d']"],
        r#"{"m:rule":[{"name":"b","action":"permit","match":[{"src":"s","dst":"d","port":[2,1,3],"option":{"log":true}}]},{"name":"a"}]}"#,
    );
}

#[test]
fn changes_of_the_candidate_in_an_entry_moved_by_running_are_applied_there() {
    let start = r#"{"m:rule":[{"name":"a"},{"name":"b","match":[{"src":"s","dst":"d","port":[2,1]},{"src":"t","dst":"d"}]}]}"#;
    let mine = r#"{"m:rule":[{"name":"b","match":[{"src":"s","dst":"d","port":[3]},{"src":"t","dst":"d","@":{"yang:insert":"first"}}]}]}"#;
    merges(
        start,
        &[mine],
        &[&put_rule("b", "first")],
        r#"{"m:rule":[{"name":"b","match":[{"src":"t","dst":"d"},{"src":"s","dst":"d","port":[2,1,3]}]},{"name":"a"}]}"#,
    );
}

#[test]
fn both_move_entries_and_lists_in_them() {
    let start = r#"{"m:rule":[{"name":"a","match":[{"src":"s","dst":"d"},{"src":"t","dst":"d"}]},{"name":"b"},{"name":"c"}]}"#;
    let mine =
        r#"{"m:rule":[{"name":"a","match":[{"src":"t","dst":"d","@":{"yang:insert":"first"}}]}]}"#;
    merges(
        start,
        &[mine, &put_rule("c", "first")],
        &[&put_rule("a", "last"), "/rule[name='b']"],
        r#"{"m:rule":[{"name":"c"},{"name":"a","match":[{"src":"t","dst":"d"},{"src":"s","dst":"d"}]}]}"#,
    );
}

#[test]
fn a_reused_position_in_the_candidate_is_not_confused() {
    // The candidate inserts a new entry where it removed another one, and running changes the removed one.
    merges(
        r#"{"m:rule":[{"name":"a"},{"name":"b"}]}"#,
        &[&put_rule("a", "last"), &put_rule("x", "first")],
        &[r#"{"m:rule":[{"name":"a","action":"permit"}]}"#],
        r#"{"m:rule":[{"name":"x"},{"name":"b"},{"name":"a","action":"permit"}]}"#,
    );
}

#[test]
fn adjacent_cases_that_were_deleted_together_are_distinguished() {
    // The keys that the candidate deletes are adjacent, and deleted as one range.
    let (running, candidate) = both(
        r#"{"m:chair":[2,1],"m:sun":{"hours":1}}"#,
        &[r#"{"m:seat":{"number":1}}"#],
        &[r#"{"m:chair":[3]}"#],
    );
    assert!(!candidate.conflicts().unwrap().is_empty());
    candidate
        .update(Resolution::PreferCandidate, CommitOptions::default())
        .unwrap();
    commit_candidate(&running, &candidate, r#"{"m:seat":{"number":1}}"#);
}

#[test]
fn an_entry_that_running_moved_excludes_the_other_case_of_the_candidate() {
    for (resolution, expected) in [
        (Resolution::PreferRunning, r#"{"m:stop":["c"]}"#),
        (Resolution::PreferCandidate, r#"{"m:change":[{"at":"x"}]}"#),
    ] {
        let (running, candidate) = both_of(
            include_str!("ordered.yang"),
            r#"{"m:stop":["a","b","c"]}"#,
            &[r#"{"m:change":[{"at":"x"}]}"#],
            &[r#"{"m:stop":["c"],"@m:stop":[{"yang:insert":"first"}]}"#],
        );
        assert!(!candidate.conflicts().unwrap().is_empty());
        candidate
            .update(resolution, CommitOptions::default())
            .unwrap();
        commit_candidate(&running, &candidate, expected);
    }
}

#[test]
fn an_entry_put_at_its_old_place_did_not_move() {
    merges(
        TURNS,
        &[&last("c"), &after("x", "b")],
        &[&last("theirs")],
        r#"{"m:turn":["a","b","x","c","theirs"]}"#,
    );
    merges(
        TURNS,
        &[&last("c"), &first("a")],
        &["/turn[.='c']", "/turn[.='a']"],
        r#"{"m:turn":["b"]}"#,
    );
}

#[test]
fn a_renumbered_list_keeps_its_order() {
    // A position has room for about 380 insertions in one place.
    let numbers = 0..450;
    let insertions: Vec<String> = numbers.map(|one| after(&format!("n{one}"), "a")).collect();
    let insertions: Vec<&str> = insertions.iter().map(String::as_str).collect();
    let many: String = (0..450).rev().map(|one| format!(r#","n{one}""#)).collect();
    let few = [&first("x"), &after("y", "b"), &last("b")].map(String::clone);
    let few = few.each_ref().map(String::as_str);
    let expected = format!(r#"{{"m:turn":["x","a","y"{many},"c","b"]}}"#);
    merges(TURNS, &insertions, &few, &expected);
    let expected = format!(r#"{{"m:turn":["x","a"{many},"y","c","b"]}}"#);
    merges(TURNS, &few, &insertions, &expected);
}

#[test]
fn an_instance_identifier_does_not_refer_to_the_next_entry_at_a_position() {
    let model = r#"module m { yang-version 1.1; namespace urn:m; prefix m;
      leaf-list v { type instance-identifier; }
      list l { key k; ordered-by user; leaf k { type string; } } }"#;
    let running = memory_tree(model);
    change(&running, &[r#"{"m:l":[{"k":"b"}],"m:v":["/m:l[k='b']"]}"#]);
    let edits = [
        Edit::delete(path(running.schema(), "/l[k='b']")),
        Edit::merge(
            InstancePath::root(),
            data(running.schema(), r#"{"m:l":[{"k":"ab"}]}"#),
        ),
    ];
    assert!(commit(&running, &edits).is_err());
}

#[test]
fn a_container_in_an_entry_that_is_not_recreated_is_not_merged() {
    let start = r#"{"m:rule":[{"name":"a","to":1,"match":[{"k":"1","in":{"u":"1"}}]}]}"#;
    let mine = [
        "/rule[name='a'][to='1']",
        r#"{"m:rule":[{"name":"a","to":1}]}"#,
    ];
    let theirs = [r#"{"m:rule":[{"name":"a","to":1,"match":[{"k":"1","in":{"u":"2"}}]}]}"#];
    let (running, candidate) = both_of(include_str!("ordered.yang"), start, &mine, &theirs);
    let conflicts = candidate.conflicts().unwrap();
    let paths: Vec<&str> = conflicts.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(paths, ["/m:rule[name='a'][to='1']/match[k='1']"]);
    candidate
        .update(Resolution::PreferCandidate, CommitOptions::default())
        .unwrap();
    candidate
        .commit_candidate(CommitOptions::default())
        .unwrap();
    assert_eq!(text(&running), r#"{"m:rule":[{"name":"a","to":1}]}"#);
    assert_sound(running.store());
}

#[test]
fn adjacent_lists_deleted_by_the_candidate_stay_deleted_when_running_changes() {
    let (running, candidate) = both(
        r#"{"m:rule":[{"name":"a"}],"m:device":[{"id":"d"}]}"#,
        &["/m:rule", "/m:device"],
        &[r#"{"m:top":"1"}"#],
    );
    // Merged onto the current running, and stored again.
    change(&candidate, &[r#"{"m:top-default":7}"#]);
    change(&running, &[r#"{"m:rule":[{"name":"b"}]}"#]);
    assert_eq!(candidate.conflicts().unwrap().len(), 1);
    candidate
        .update(Resolution::PreferRunning, CommitOptions::default())
        .unwrap();
    commit_candidate(
        &running,
        &candidate,
        r#"{"m:top":"1","m:top-default":7,"m:rule":[{"name":"b"}]}"#,
    );
}

/// Like [`both_of`]; running no longer has the base of the candidate in its history.
fn both_forgotten(start: &str, mine: &[&str], theirs: &[&str]) -> (Tree, Tree) {
    let running = forgetful(include_str!("ordered.yang"));
    change(&running, &[start]);
    let candidate = running.sibling_datastore(Datastore::Candidate, "").unwrap();
    change(&candidate, mine);
    change(&running, theirs);
    change(&running, &[r#"{"m:top":"for a moment"}"#, "/m:top"]);
    (running, candidate)
}

#[test]
fn a_conflict_about_a_container_leaves_no_positions_of_entries_in_it_without_the_history() {
    for resolution in [Resolution::PreferRunning, Resolution::PreferCandidate] {
        let (running, candidate) = both_forgotten(
            r#"{"m:plain":{"a":0}}"#,
            &["/plain", r#"{"m:plain":{"deep":[{"k":5},{"k":256}]}}"#],
            &[r#"{"m:plain":{"a":1,"deep":[{"k":7},{"k":256},{"k":0}]}}"#],
        );
        assert!(!candidate.conflicts().unwrap().is_empty());
        candidate
            .update(resolution, CommitOptions::default())
            .unwrap();
        let settled = text(&candidate);
        commit_candidate(&running, &candidate, &settled);
    }
}

#[test]
fn entries_of_running_that_the_base_may_have_had_do_not_reorder_entries_of_the_candidate() {
    let stop = |value: &str, place: &str| {
        format!(r#"{{"m:stop":["{value}"],"@m:stop":[{{"yang:insert":"{place}"}}]}}"#)
    };
    // The last entry of the base follows new ones in running.
    let theirs = [
        r#"{"m:stop":["b","d"]}"#,
        &stop("i", "last"),
        &stop("e", "last"),
    ];
    let (running, candidate) = both_forgotten(
        r#"{"m:stop":["a","c","i"]}"#,
        &[&stop("x", "last")],
        &theirs,
    );
    let expected = r#"{"m:stop":["a","c","b","d","i","e","x"]}"#;
    commit_candidate(&running, &candidate, expected);
    // The candidate puts the last entry of the base behind a new one.
    let mine = [stop("n", "last"), stop("i", "last")];
    let (running, candidate) = both_forgotten(
        r#"{"m:stop":["a","c","i"]}"#,
        &mine.each_ref().map(String::as_str),
        &[&stop("r", "last")],
    );
    let expected = r#"{"m:stop":["a","c","n","i","r"]}"#;
    commit_candidate(&running, &candidate, expected);
}
