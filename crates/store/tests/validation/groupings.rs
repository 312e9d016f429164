//! Unprefixed names in text of one module that takes effect in another (RFC 7950 §6.4.1, §7.13): groupings,
//! augments, deviations, refinements, submodules.

use crate::compare::{Agreement, CommitMethod, Trial};
use crate::edit::Change;
use crate::fixture::{Fixture, parse};
use crate::run::{Depth, compare};

/// Module `g`; each of the others uses a part of it.
fn grouping(body: &str) -> String {
    format!("module g {{ yang-version 1.1; namespace urn:g; prefix g; {body} }}")
}

/// Module `m`, which imports `g`.
fn user(body: &str) -> String {
    format!(
        "module m {{ yang-version 1.1; namespace urn:m; prefix m; import g {{ prefix g; }} {body} }}"
    )
}

/// Puts each document into an empty datastore: the first ones are valid, the others are not; libyang must
/// agree.
fn check(modules: &[String], valid: &[&str], invalid: &[&str]) {
    let texts: Vec<&str> = modules.iter().map(String::as_str).collect();
    let documents = valid.iter().map(|text| (text, true));
    let documents = documents.chain(invalid.iter().map(|text| (text, false)));
    for (document, is_valid) in documents {
        let fixture = Fixture::of_modules(&texts).unwrap_or_else(|problem| panic!("{problem}"));
        let change = Change::ReplaceAll(parse(&fixture.schema, document));
        let before = parse(&fixture.schema, "{}");
        let trial = Trial::new(&fixture, before, vec![change], CommitMethod::Commit);
        let result = compare(&fixture, &trial, &fixture.tree, Depth::Stored);
        let agreement =
            result.unwrap_or_else(|what| panic!("{what}\n{}", trial.describe(&fixture)));
        assert_eq!(
            matches!(agreement, Agreement::Accepted(_)),
            is_valid,
            "{agreement:?}\n{}",
            trial.describe(&fixture)
        );
    }
}

#[test]
fn unprefixed_names_in_a_grouping_belong_to_the_using_module() {
    check(
        &[
            grouping(
                "grouping a { leaf t { type int8; } leaf w { when \"../t = 1\"; type int8; } }",
            ),
            user("container c { uses g:a; }"),
        ],
        &[r#"{"m:c":{"t":1,"w":1}}"#],
        &[r#"{"m:c":{"t":2,"w":1}}"#, r#"{"m:c":{"w":1}}"#],
    );
    check(
        &[
            grouping(
                "grouping a { leaf low { type int8; must \". <= ../high\"; } leaf high { type int8; } }",
            ),
            user("container c { uses g:a; }"),
        ],
        &[r#"{"m:c":{"low":1,"high":2}}"#],
        &[r#"{"m:c":{"low":2,"high":1}}"#],
    );
}

#[test]
fn mandatory_nodes_and_defaults_follow_a_when_in_a_grouping_of_another_module() {
    let grouping = grouping(
        "grouping a { leaf t { type int8; }
           leaf w { when \"../t = 1\"; type int8; mandatory true; }
           leaf d { when \"../t = 2\"; type int8; default 5; }
           leaf e { must \"../d = 5\"; type int8; } }",
    );
    check(
        &[grouping, user("container c { presence p; uses g:a; }")],
        &[
            r#"{"m:c":{}}"#,
            r#"{"m:c":{"t":1,"w":1}}"#,
            r#"{"m:c":{"t":2,"e":1}}"#,
        ],
        &[r#"{"m:c":{"t":1}}"#, r#"{"m:c":{"t":1,"w":1,"e":1}}"#],
    );
}

#[test]
fn a_grouping_in_a_grouping_belongs_to_the_module_of_the_outermost_uses() {
    let inner =
        grouping("grouping a { leaf t { type int8; } leaf w { when \"../t = 1\"; type int8; } }");
    let outer =
        user("grouping b { container c { uses g:a { refine w { must \"../t + . = 2\"; } } } }");
    let last = "module n { yang-version 1.1; namespace urn:n; prefix n; import m { prefix x; } uses x:b; }";
    check(
        &[inner, outer, last.to_owned()],
        &[r#"{"n:c":{"t":1,"w":1}}"#],
        &[r#"{"n:c":{"t":1,"w":2}}"#, r#"{"n:c":{"t":2,"w":1}}"#],
    );
}

#[test]
fn prefixes_in_a_grouping_belong_to_the_module_of_its_text() {
    // In `g` the prefix `p` is the module `b`, in `m` it is `g`.
    let base = "module b { yang-version 1.1; namespace urn:b; prefix b; leaf x { type int8; }
        identity animal; identity cat { base animal; } }";
    let grouping = "module g { yang-version 1.1; namespace urn:g; prefix g; import b { prefix p; }
        grouping a { leaf w { when \"/p:x = 1\"; type int8; }
          leaf i { type identityref { base p:animal; } must \". = 'p:cat'\"; } } }";
    let user = "module m { yang-version 1.1; namespace urn:m; prefix m; import g { prefix p; }
        container c { uses p:a; } }";
    check(
        &[base.to_owned(), grouping.to_owned(), user.to_owned()],
        &[r#"{"b:x":1,"m:c":{"w":1}}"#, r#"{"m:c":{"i":"b:cat"}}"#],
        &[r#"{"b:x":2,"m:c":{"w":1}}"#],
    );
}

#[test]
fn unprefixed_names_in_a_deviation_belong_to_the_target_module() {
    let target = "module m { yang-version 1.1; namespace urn:m; prefix m;
        container c { leaf t { type int8; } leaf w { type int8; } } }";
    // The prefix `m` is another module here.
    let deviation = "module d { yang-version 1.1; namespace urn:d; prefix d;
        import m { prefix n; } leaf t { type int8; }
        deviation /n:c/n:w { deviate add { must \"../t = 1 and not(/d:t = 7)\"; } } }";
    check(
        &[target.to_owned(), deviation.to_owned()],
        &[r#"{"m:c":{"t":1,"w":1}}"#],
        &[r#"{"m:c":{"w":1}}"#, r#"{"d:t":7,"m:c":{"t":1,"w":1}}"#],
    );
}

#[test]
fn a_choice_of_another_module_keeps_the_names_of_its_when() {
    let choice = "module m { yang-version 1.1; namespace urn:m; prefix m;
        container c { leaf t { type int8; } choice h { when \"t = 1\"; case a { leaf a { type int8; } } } } }";
    let augment = "module n { yang-version 1.1; namespace urn:n; prefix n; import m { prefix m; }
        augment /m:c { leaf t { type int8; } } augment /m:c/m:h { when \"n:t = 2\"; leaf b { type int8; } } }";
    check(
        &[choice.to_owned(), augment.to_owned()],
        &[
            r#"{"m:c":{"t":1,"n:t":2,"n:b":1}}"#,
            r#"{"m:c":{"t":1,"a":1}}"#,
        ],
        &[
            r#"{"m:c":{"t":2,"n:t":2,"n:b":1}}"#,
            r#"{"m:c":{"t":1,"n:t":1,"n:b":1}}"#,
        ],
    );
}

#[test]
fn a_leafref_in_a_grouping_of_another_module_refers_within_the_using_module() {
    check(
        &[
            grouping(
                "grouping a { leaf-list t { type int8; }
                   leaf r { type leafref { path \"../t\"; } }
                   list l { key k; leaf k { type int8; } leaf v { type int8; } }
                   leaf s { type leafref { path \"../l[k = current()/../r]/v\"; } } }",
            ),
            user("container c { uses g:a; }"),
        ],
        &[
            r#"{"m:c":{"t":[1,2],"r":1}}"#,
            r#"{"m:c":{"t":[1],"r":1,"l":[{"k":1,"v":3}],"s":3}}"#,
        ],
        &[
            r#"{"m:c":{"t":[1,2],"r":3}}"#,
            r#"{"m:c":{"t":[1],"r":1,"l":[{"k":2,"v":3}],"s":3}}"#,
        ],
    );
}
