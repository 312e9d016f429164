//! Random configurations: the compiled table and the explanation, rule by rule, agree.

use espalier_service::access::AccessPolicy;
use espalier_store::AccessOperation;
use espalier_testkit::seed;
use espalier_yang::InstancePath;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::fixture::{json_data, policy, put, tree_of, user};

/// The number of configurations in a run.
const CONFIGURATIONS: u64 = 60;

const MODEL: &str = "module m { yang-version 1.1; namespace urn:m; prefix m; import ietf-netconf-acm { prefix nacm; }
    container c { leaf x { type string; }
        list l { key \"a b\"; ordered-by user; leaf a { type string; } leaf b { type uint8; } leaf v { type string; }
            container n { nacm:default-deny-write; leaf x { type string; } } }
        list s { key k; leaf k { type string; } leaf-list v { type string; }
            list t { key k; leaf k { type string; } leaf w { nacm:default-deny-all; type string; } } } } }";

const AUGMENT: &str =
    "module n { yang-version 1.1; namespace urn:n; prefix n; import m { prefix m; }
    augment /m:c/m:s { leaf more { type string; } } container top { leaf y { type string; } } }";

const PATHS: [&str; 17] = [
    "/m:c",
    "/m:c/x",
    "/m:c/l[a='1'][b='1']",
    "/m:c/l[a='1'][b='2']/v",
    "/m:c/l[a='2'][b='1']/n",
    "/m:c/l[a='2'][b='1']/n/x",
    "/m:c/l",
    "/m:c/s[k='1']",
    "/m:c/s[k='2']",
    "/m:c/s[k='1']/v[.='1']",
    "/m:c/s[k='1']/t[k='1']",
    "/m:c/s[k='1']/t[k='2']/w",
    "/m:c/s[k='2']/t[k='1']/k",
    "/m:c/s[k='2']/n:more",
    "/n:top",
    "/n:top/y",
    "/ietf-netconf-acm:nacm/rule-list",
];

/// A rule path made of a data path: some predicates are removed.
fn pattern(random: &mut StdRng) -> String {
    let path = *PATHS.choose(random).unwrap();
    let mut pattern = String::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('[') {
        let (predicate, after) = after.split_once(']').unwrap();
        pattern.push_str(before);
        if random.random_bool(0.6) {
            pattern.push_str(&format!("[{predicate}]"));
        }
        rest = after;
    }
    pattern + rest
}

fn configuration(random: &mut StdRng) -> String {
    let action = |random: &mut StdRng| *["permit", "deny"].choose(random).unwrap();
    let mut lists = Vec::new();
    for list in 0..random.random_range(0..4) {
        let mut rules = Vec::new();
        for rule in 0..random.random_range(0..6) {
            let mut members = vec![format!(r#""name":"r{rule}","action":"{}""#, action(random))];
            if random.random_bool(0.8) {
                members.push(format!(r#""path":"{}""#, pattern(random)));
            }
            if random.random_bool(0.2) {
                members.push(format!(
                    r#""module-name":"{}""#,
                    ["m", "n", "*", "none"].choose(random).unwrap()
                ));
            }
            let operations = ["*", "read", "create update", "delete", "read exec"];
            members.push(format!(
                r#""access-operations":"{}""#,
                operations.choose(random).unwrap()
            ));
            rules.push(format!("{{{}}}", members.join(",")));
        }
        let group = *["*", "g", "h"].choose(random).unwrap();
        lists.push(format!(
            r#"{{"name":"l{list}","group":["{group}"],"rule":[{}]}}"#,
            rules.join(",")
        ));
    }
    format!(
        r#"{{"ietf-netconf-acm:nacm":{{"read-default":"{}","write-default":"{}","exec-default":"{}",
        "groups":{{"group":[{{"name":"g","user-name":["maria"]}},{{"name":"h","user-name":["otto"]}}]}},
        "rule-list":[{}]}}}}"#,
        action(random),
        action(random),
        action(random),
        lists.join(",")
    )
}

fn compare(policy: &AccessPolicy, text: &str) {
    for name in ["maria", "otto", "nobody"] {
        let access = policy.access_of(&user(name));
        let table = access.table().expect("access control is enabled");
        for path in PATHS {
            let path = InstancePath::parse_cli_path(policy.schema(), path).unwrap();
            for operation in AccessOperation::ALL {
                let explained = policy.explain(&user(name), operation, &path);
                assert_eq!(
                    table.allows(operation, &path),
                    explained.is_permitted,
                    "{operation:?} {path:?} of {name}: {explained:?}\n{text}"
                );
            }
        }
    }
}

#[test]
fn explanations_agree_with_the_compiled_rules() {
    let variable = "ESPALIER_CONFIGURATIONS";
    let count = seed::number_from_environment(variable).unwrap_or(CONFIGURATIONS);
    seed::run_each("access configurations", count, variable, |random| {
        let tree = tree_of(&[MODEL, AUGMENT]);
        let text = configuration(random);
        put(&tree, json_data(tree.schema(), &text));
        let policy = policy(&tree);
        assert_eq!(policy.problems(), [], "{text}");
        compare(&policy, &text);
    });
}
