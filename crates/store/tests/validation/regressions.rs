//! Bugs that were fixed.

use espalier_yang::InstancePath;
use espalier_yang::data::Operation;

use crate::compare::{Agreement, CommitMethod, Trial};
use crate::edit::Change;
use crate::fixture::{Fixture, commit, parse};
use crate::run::{Depth, compare};

/// An edit.
enum EditSpec<'a> {
    /// Merges a document.
    Merge(&'a str),
    /// Replaces everything with a document.
    ReplaceAll(&'a str),
    /// Deletes a resource, by its path in command-line syntax.
    Delete(&'a str),
}

/// The expected result.
enum Expected {
    /// The tree.
    Tree(&'static str),
    /// It is rejected.
    Refused,
}

use EditSpec::{Delete, Merge, ReplaceAll};
use Expected::{Refused, Tree};

/// Commits `before`, then an edit, and compares the verdict with the expected one and with libyang's.
fn check(body: &str, before: &str, edit: &[EditSpec<'_>], expected: &Expected) {
    check_with(CommitMethod::Commit, body, before, edit, expected);
}

/// Like [`check`], in a given way.
fn check_with(
    method: CommitMethod,
    body: &str,
    before: &str,
    edit: &[EditSpec<'_>],
    expected: &Expected,
) {
    let fixture = Fixture::written(body).unwrap_or_else(|problem| panic!("{problem}"));
    let schema = &fixture.schema;
    let before = parse(schema, before);
    if !before.nodes.is_empty() {
        let start = Change::ReplaceAll(before.clone()).to_edit();
        commit(&fixture.tree, &[start]).unwrap_or_else(|error| panic!("{error}"));
    }
    let at_root =
        |text: &str| Change::Tree(InstancePath::root(), parse(schema, text), Operation::Merge);
    let change = |one: &EditSpec<'_>| match one {
        Merge(text) => at_root(text),
        ReplaceAll(text) => Change::ReplaceAll(parse(schema, text)),
        Delete(path) => Change::Delete(InstancePath::parse_cli_path(schema, path).unwrap()),
    };
    let changes = edit.iter().map(change).collect();
    let trial = Trial::new(&fixture, before, changes, method);
    let result = compare(&fixture, &trial, &fixture.tree, Depth::Stored);
    let agreement = result.unwrap_or_else(|what| panic!("{what}\n{}", trial.describe(&fixture)));
    match (agreement, expected) {
        (Agreement::Accepted(after), Tree(expected)) => {
            assert!(
                after.is_equivalent(&parse(schema, expected), schema),
                "{after:?}"
            );
        }
        (Agreement::Refused(_), Refused) => {}
        (found, _) => panic!("{found:?}\n{}", trial.describe(&fixture)),
    }
}

#[test]
fn an_entry_that_replaces_another_is_new_to_its_when() {
    let model = "list l { when \"../x\"; key k; ordered-by user; leaf k { type string; } } leaf x { type string; }";
    let before = r#"{"m:l":[{"k":"a"}],"m:x":""}"#;
    check(
        model,
        before,
        &[ReplaceAll(r#"{"m:l":[{"k":"b"}]}"#)],
        &Refused,
    );
    check(model, before, &[Delete("/m:x")], &Tree("{}"));
}

#[test]
fn new_nodes_in_an_entry_deleted_by_its_when_have_their_own_when_tested() {
    let model = "leaf x { type string; } list l { when \"../x\"; key k; leaf k { type string; }
        choice c { when \"k != 'a'\"; list n { key k; leaf k { type string; } } }
        container d { leaf y { when \"../../k != 'a'\"; type string; } } }";
    let before = r#"{"m:x":"","m:l":[{"k":"a"},{"k":"b"}]}"#;
    let goes_with = |child| [Delete("/m:x"), Merge(child)];
    for refused in [
        r#"{"m:l":[{"k":"a","n":[{"k":"a"}]}]}"#,
        r#"{"m:l":[{"k":"b"},{"k":"a","d":{"y":""}}]}"#,
    ] {
        check(model, before, &goes_with(refused), &Refused);
    }
    for taken_away in [
        r#"{"m:l":[{"k":"b","n":[{"k":"a"}]}]}"#,
        r#"{"m:l":[{"k":"b","d":{"y":""}}]}"#,
    ] {
        check(model, before, &goes_with(taken_away), &Tree("{}"));
    }
}

#[test]
fn a_mandatory_choice_is_required_even_if_no_case_is_possible() {
    let model = "leaf x { type string; } leaf y { type string; } container c { presence meaning;
        choice h { when \"../x\"; mandatory true; case s { when \"../y\"; leaf f { type string; } } } }";
    let before = r#"{"m:c":{}}"#;
    check(model, before, &[Merge(r#"{"m:x":""}"#)], &Refused);
    let y = r#"{"m:c":{},"m:y":""}"#;
    check(model, before, &[Merge(r#"{"m:y":""}"#)], &Tree(y));
}

#[test]
fn nodes_in_a_replaced_entry_have_another_name() {
    let model = "leaf r { type instance-identifier; } list l { key k; ordered-by user; leaf k { type string; }
        container c { presence p; list n { key k; leaf k { type string; } leaf f { type string; } } } }";
    let inside = r#""c":{"n":[{"k":"a","f":"f"}]}"#;
    let entry = |key| format!(r#""m:l":[{{"k":"{key}",{inside}}}]"#);
    for name in ["", "/c", "/c/n[k='a']", "/c/n[k='a']/f"] {
        let before = format!(r#"{{"m:r":"/m:l[k='a']{name}",{}}}"#, entry("a"));
        let other = format!("{{{}}}", entry("b"));
        check(model, &before, &[Delete("/m:l=a"), Merge(&other)], &Refused);
    }
}

#[test]
fn a_leaf_list_with_an_entry_loses_its_defaults() {
    let model = "leaf-list v { type string; default a; } leaf r { type leafref { path ../v; } }";
    let before = r#"{"m:r":"a"}"#;
    check(model, before, &[Merge(r#"{"m:v":["b"]}"#)], &Refused);
    check(
        model,
        before,
        &[Merge(r#"{"m:v":["a"]}"#)],
        &Tree(r#"{"m:r":"a","m:v":["a"]}"#),
    );
}

#[test]
fn a_node_created_deep_in_containers_tests_their_when() {
    let model = "container c { when \"../x\"; container d { leaf y { type string; } } } leaf x { type string; }";
    check(model, "{}", &[Merge(r#"{"m:c":{"d":{"y":""}}}"#)], &Refused);
}

#[test]
fn an_entry_created_in_a_container_tests_its_when() {
    let model = "container c { when \"../x\"; list l { key k; leaf k { type string; } } } leaf x { type string; }";
    check(
        model,
        "{}",
        &[Merge(r#"{"m:c":{"l":[{"k":"a"}]}}"#)],
        &Refused,
    );
}

#[test]
fn a_leaf_list_without_entries_refers_by_its_defaults() {
    let model =
        "leaf-list v { type leafref { path ../t; } default a; } leaf-list t { type string; }";
    let before = r#"{"m:v":["b"],"m:t":["b"]}"#;
    check(model, before, &[Delete("/m:v")], &Refused);
    let both = r#"{"m:v":["b"],"m:t":["a","b"]}"#;
    check(
        model,
        both,
        &[Delete("/m:v")],
        &Tree(r#"{"m:t":["a","b"]}"#),
    );
}

#[test]
fn unique_counts_defaults_in_containers_that_are_not_stored() {
    let model = "list l { key k; unique c/d; leaf k { type string; } container c { leaf d { type string; default x; } } }";
    let before = r#"{"m:l":[{"k":"a"}]}"#;
    check(model, before, &[Merge(r#"{"m:l":[{"k":"b"}]}"#)], &Refused);
    check(
        model,
        before,
        &[Merge(r#"{"m:l":[{"k":"b","c":{"d":"y"}}]}"#)],
        &Tree(r#"{"m:l":[{"k":"a"},{"k":"b","c":{"d":"y"}}]}"#),
    );
}

#[test]
fn the_first_commit_validates_unchanged_nodes_too() {
    let model = "container c { leaf y { type string; mandatory true; } } leaf x { type string; }";
    check(model, "{}", &[Merge(r#"{"m:x":""}"#)], &Refused);
    let both = r#"{"m:x":"","m:c":{"y":""}}"#;
    check(model, "{}", &[Merge(both)], &Tree(both));
}

#[test]
fn an_empty_load_is_validated_and_leaves_no_indexes() {
    let list =
        "list l { key k; leaf k { type string; } leaf r { type leafref { path ../../l/k; } } }";
    let before = r#"{"m:l":[{"k":"a","r":"a"}]}"#;
    let nothing = [ReplaceAll("{}")];
    check_with(CommitMethod::Load, list, before, &nothing, &Tree("{}"));
    let demanding = format!("{list} container c {{ must \"../l\"; }}");
    check_with(CommitMethod::Load, &demanding, before, &nothing, &Refused);
    check_with(CommitMethod::Load, &demanding, "{}", &nothing, &Refused);
}

#[test]
fn an_instance_identifier_may_name_a_leaf_list_default_that_is_no_longer_in_use() {
    let model = "leaf i { type instance-identifier; } leaf-list v { type string; default a; }";
    let before = r#"{"m:i":"/m:v[.='a']"}"#;
    check(model, before, &[Merge(r#"{"m:v":["b"]}"#)], &Refused);
    let both = r#"{"m:i":"/m:v[.='a']","m:v":["a","b"]}"#;
    check(model, before, &[Merge(r#"{"m:v":["a","b"]}"#)], &Tree(both));
}

#[test]
fn a_when_of_a_choice_case_or_uses_at_the_top_level_is_evaluated_at_the_root() {
    let case =
        "choice c { case a { when \"x='1'\"; leaf a { type string; } } } leaf x { type string; }";
    let uses =
        "grouping g { leaf a { type string; } } uses g { when \"x='1'\"; } leaf x { type string; }";
    let choice = "choice c { when \"x='1'\"; leaf a { type string; } } leaf x { type string; }";
    for model in [case, uses, choice] {
        let all = r#"{"m:a":"","m:x":"1"}"#;
        check(model, "{}", &[Merge(all)], &Tree(all));
        check(
            model,
            all,
            &[Merge(r#"{"m:x":"2"}"#)],
            &Tree(r#"{"m:x":"2"}"#),
        );
        check(model, "{}", &[Merge(r#"{"m:a":""}"#)], &Refused);
    }
}

#[test]
fn an_entry_is_compared_with_its_nearest_sibling_when_either_changes() {
    let model = "list l { key k; ordered-by user; leaf k { type string; } leaf v { type uint8; }
        must \"not(preceding-sibling::l[1]/v > v)\"; }";
    let before = r#"{"m:l":[{"k":"a","v":1},{"k":"b","v":2},{"k":"c","v":3}]}"#;
    let without_b = Tree(r#"{"m:l":[{"k":"a","v":1},{"k":"c","v":3}]}"#);
    check(
        model,
        before,
        &[Merge(r#"{"m:l":[{"k":"b","v":5}]}"#)],
        &Refused,
    );
    check(
        model,
        before,
        &[Merge(r#"{"m:l":[{"k":"d","v":2}]}"#)],
        &Refused,
    );
    check(model, before, &[Delete("/m:l=b")], &without_b);
    let others = r#"{"m:l":[{"k":"a","v":3},{"k":"b","v":3},{"k":"c","v":2}]}"#;
    check(model, before, &[Merge(others)], &Refused);
    let middle = r#"{"m:l":[{"k":"a","v":2}]}"#;
    let after = r#"{"m:l":[{"k":"a","v":2},{"k":"c","v":3}]}"#;
    check(
        model,
        before,
        &[Delete("/m:l=b"), Merge(middle)],
        &Tree(after),
    );
    let high = r#"{"m:l":[{"k":"a","v":4}]}"#;
    check(model, before, &[Delete("/m:l=b"), Merge(high)], &Refused);
}

#[test]
fn a_target_may_be_deleted_while_another_has_its_value() {
    let model = "list l { key k; leaf k { type string; } leaf w { type string; } }
        leaf r { type leafref { path ../l/w; } }";
    let before = r#"{"m:l":[{"k":"a","w":"x"},{"k":"b","w":"x"}],"m:r":"x"}"#;
    let after = r#"{"m:l":[{"k":"b","w":"x"}],"m:r":"x"}"#;
    check(model, before, &[Delete("/m:l=a")], &Tree(after));
    check(
        model,
        before,
        &[Delete("/m:l=a"), Delete("/m:l=b")],
        &Refused,
    );
    let relative = "list o { key k; leaf k { type string; } leaf-list t { type string; }
        container c { leaf r { type leafref { path ../../t; } } } }";
    let before = r#"{"m:o":[{"k":"a","t":["x"],"c":{"r":"x"}},{"k":"b","t":["x"]}]}"#;
    check(relative, before, &[Delete("/m:o=a/t=x")], &Refused);
}

#[test]
fn a_union_of_leafrefs_loses_the_target_of_its_second_member() {
    let model = "leaf-list i { type uint8; } leaf-list s { type string; }
        leaf u { type union { type leafref { path ../i; } type leafref { path ../s; } } }";
    let before = r#"{"m:s":["5"],"m:u":5}"#;
    check(model, before, &[Delete("/m:s=5")], &Refused);
}

#[test]
fn a_leaf_list_value_named_by_an_instance_identifier_cannot_be_deleted() {
    let model = "leaf-list v { type string; } leaf r { type instance-identifier; }";
    let before = r#"{"m:v":["a","b"],"m:r":"/m:v[.='a']"}"#;
    let after = r#"{"m:v":["a"],"m:r":"/m:v[.='a']"}"#;
    check(model, before, &[Delete("/m:v=b")], &Tree(after));
    check(model, before, &[Delete("/m:v=a")], &Refused);
    let many: Vec<String> = (0..40).map(|number| format!("\"{number}\"")).collect();
    let before = format!(r#"{{"m:v":[{}],"m:r":"/m:v[.='7']"}}"#, many.join(","));
    check(
        model,
        &before,
        &[ReplaceAll(r#"{"m:v":["8"],"m:r":"/m:v[.='7']"}"#)],
        &Refused,
    );
    check(
        model,
        &before,
        &[ReplaceAll(r#"{"m:v":["7"],"m:r":"/m:v[.='7']"}"#)],
        &Tree(r#"{"m:v":["7"],"m:r":"/m:v[.='7']"}"#),
    );
}

#[test]
fn a_must_on_a_group_counts_the_group_of_each_entry() {
    for count in [
        "count(../e[g = current()/g])",
        "count(//e[g = current()/g])",
        "count(/c/e[current()/g = g])",
    ] {
        let model = format!(
            "container c {{ list e {{ key k; leaf k {{ type uint16; }} leaf g {{ type string; }}
                must \"{count} <= 20\"; }} }}"
        );
        let entries = |range: std::ops::Range<u16>, group: &str| -> String {
            let all: Vec<String> = range
                .map(|k| format!(r#"{{"k":{k},"g":"{group}"}}"#))
                .collect();
            all.join(",")
        };
        let document = |entries: &[String]| format!(r#"{{"m:c":{{"e":[{}]}}}}"#, entries.join(","));
        let before = document(&[entries(0..20, "a"), entries(20..39, "b")]);
        check(
            &model,
            &before,
            &[Merge(&document(&[entries(40..41, "a")]))],
            &Refused,
        );
        check(
            &model,
            &before,
            &[Merge(&document(&[entries(40..42, "b")]))],
            &Refused,
        );
        check(
            &model,
            &before,
            &[Merge(&document(&[entries(3..5, "b")]))],
            &Refused,
        );
        check(
            &model,
            "{}",
            &[Merge(&document(&[entries(0..21, "a")]))],
            &Refused,
        );
        check_with(
            CommitMethod::Load,
            &model,
            "{}",
            &[ReplaceAll(&document(&[entries(0..21, "a")]))],
            &Refused,
        );
    }
}

#[test]
fn sums_and_extremes_of_a_list_follow_every_change() {
    let model = "container c { must \"sum(e/v) <= 100 and not(e/v > 60) and not(-10 > e/w)\";
        list e { key k; ordered-by user; leaf k { type uint8; } leaf v { type int32; }
            leaf w { type decimal64 { fraction-digits 1; } } } }";
    let entry = |k: u8, v: i32, w: &str| format!(r#"{{"k":{k},"v":{v},"w":"{w}"}}"#);
    let document = |entries: &[String]| format!(r#"{{"m:c":{{"e":[{}]}}}}"#, entries.join(","));
    let before = document(&[
        entry(1, 50, "-9.5"),
        entry(2, -20, "1.0"),
        entry(3, 60, "0.0"),
    ]);
    let refused = [
        vec![Delete("/m:c/e=2"), Delete("/m:c/e=3/w")],
        vec![Delete("/m:c/e=2/v")],
    ];
    for edit in refused {
        let more = document(&[entry(4, 1, "2.0")]);
        let mut edit = edit;
        edit.push(Merge(&more));
        check(model, &before, &edit, &Refused);
    }
    for (k, v, w) in [(1, 61, "0.0"), (4, 11, "0.0"), (2, -20, "-10.1")] {
        check(
            model,
            &before,
            &[Merge(&document(&[entry(k, v, w)]))],
            &Refused,
        );
    }
    let after = r#"{"m:c":{"e":[{"k":1,"v":50,"w":"-9.5"},{"k":3,"v":50,"w":"-10.0"}]}}"#;
    let lower = document(&[entry(3, 50, "-10.0")]);
    check(
        model,
        &before,
        &[Delete("/m:c/e=2"), Merge(&lower)],
        &Tree(after),
    );
}

#[test]
fn a_comparison_in_a_predicate_reads_every_other_entry() {
    let model =
        "list l { key k; leaf k { type string; } leaf v { type uint8; } leaf m { type uint8; }
        must \"not(../l[v > current()/m]) and not(../l[k != current()/k and v = current()/v])\"; }";
    let before = r#"{"m:l":[{"k":"a","v":1,"m":5}]}"#;
    let after = r#"{"m:l":[{"k":"a","v":1,"m":5},{"k":"b","v":5,"m":9}]}"#;
    let merged = |v: u8, m: u8| format!(r#"{{"m:l":[{{"k":"b","v":{v},"m":{m}}}]}}"#);
    check(model, before, &[Merge(&merged(5, 9))], &Tree(after));
    for (v, m) in [(6, 9), (1, 9), (0, 0)] {
        check(model, before, &[Merge(&merged(v, m))], &Refused);
    }
    check(
        model,
        after,
        &[Merge(r#"{"m:l":[{"k":"a","m":4}]}"#)],
        &Refused,
    );
}

#[test]
fn a_number_next_to_a_comparison_in_a_predicate_is_not_a_position() {
    let model =
        "list l { ordered-by user; key k; leaf k { type string; } leaf v { type uint8; } leaf m { type uint8; }
        must \"not(../l[v > current()/m and 3])\"; }";
    let before = r#"{"m:l":[{"k":"a","v":1,"m":5}]}"#;
    let merged = |v: u8| format!(r#"{{"m:l":[{{"k":"b","v":{v},"m":9}}]}}"#);
    check(model, before, &[Merge(&merged(6))], &Refused);
    let after = r#"{"m:l":[{"k":"a","v":1,"m":5},{"k":"b","v":5,"m":9}]}"#;
    check(model, before, &[Merge(&merged(5))], &Tree(after));
}

/// Nodes of one fragment, and nodes inside one another, that are removed in one step are subtracted from sums and counts
/// once.
#[test]
fn nodes_removed_together_are_subtracted_from_sums_and_counts_once() {
    let model = "container c { must \"sum(e/v) <= 100 and count(e/p/q) <= 3\";
        list e { key k; leaf k { type uint8; } leaf on { type empty; }
            choice h { case a { when \"on\"; leaf v { type int32; } leaf w { type int32; }
                container p { list q { key k; leaf k { type uint8; } } } } } } }";
    let before = r#"{"m:c":{"e":[{"k":1,"on":[null],"v":40,"w":1,"p":{"q":[{"k":1},{"k":2}]}},
        {"k":2,"on":[null],"v":60,"w":2,"p":{"q":[{"k":1}]}}]}}"#;
    let after = r#"{"m:c":{"e":[{"k":1},{"k":2,"on":[null],"v":60,"w":2,"p":{"q":[{"k":1}]}}]}}"#;
    check(model, before, &[Delete("/m:c/e=1/on")], &Tree(after));
}
