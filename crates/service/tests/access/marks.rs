//! Marks of models, defaults, groups of the transport, recovery sessions.

use espalier_service::access::{AccessReason, Caller};
use espalier_store::{AccessOperation, DenyMark};
use espalier_yang::InstancePath;

use crate::fixture::{denied, json_data, policy, put, read, tree_of, user, view_of, write};

const MODEL: &str = "module m { yang-version 1.1; namespace urn:m; prefix m;
    import ietf-netconf-acm { prefix nacm; }
    container open { leaf a { type string; }
        container secret { nacm:default-deny-all; leaf key { type string; } }
        leaf locked { nacm:default-deny-write; type string; } }
    list l { key k; leaf k { type string; } leaf v { type string; } }
    rpc reset { nacm:default-deny-all; } rpc ping;
    notification alarm { nacm:default-deny-all; } }";

const DATA: &str = r#"{"m:open":{"a":"1","secret":{"key":"s"},"locked":"x"},"m:l":[{"k":"maria","v":"1"},{"k":"otto","v":"2"}]}"#;

#[test]
fn marks_are_stronger_than_defaults_and_weaker_than_rules() {
    let tree = tree_of(&[MODEL]);
    put(&tree, json_data(tree.schema(), DATA));
    let rules = r#"{"ietf-netconf-acm:nacm":{"write-default":"permit",
        "groups":{"group":[{"name":"g","user-name":["maria"]}]},
        "rule-list":[{"name":"r","group":["g"],"rule":[
            {"name":"secret","path":"/m:open/m:secret","access-operations":"read update","action":"permit"},
            {"name":"reset","rpc-name":"reset","action":"permit"}]}]}}"#;
    put(&tree, json_data(tree.schema(), rules));
    let policy = policy(&tree);
    let otto = read(&view_of(&tree, &policy, "otto"), "/m:open").unwrap();
    assert_eq!(otto, r#"{"m:open":{"a":"1","locked":"x"}}"#);
    let maria = read(&view_of(&tree, &policy, "maria"), "/m:open").unwrap();
    assert_eq!(
        maria,
        r#"{"m:open":{"a":"1","locked":"x","secret":{"key":"s"}}}"#
    );
    let secret = r#"{"m:open":{"secret":{"key":"t"}}}"#;
    write(&tree, &policy, "maria", secret).unwrap();
    // The path of a node that cannot be read is not in the error.
    assert_eq!(
        denied(write(
            &tree,
            &policy,
            "otto",
            r#"{"m:open":{"secret":{"key":"u"}}}"#
        )),
        [""]
    );
    let locked = r#"{"m:open":{"locked":"y"}}"#;
    assert_eq!(
        denied(write(&tree, &policy, "otto", locked)),
        ["/m:open/locked"]
    );
    write(&tree, &policy, "otto", r#"{"m:open":{"a":"2"}}"#).unwrap();
    let schema = tree.schema();
    let module = schema.module_by_name("m").unwrap();
    let node = |name: &str| schema.child(None, module, name);
    let invokes = |name: &str, operation: &str| {
        policy
            .access_of(&user(name))
            .may_invoke(schema, "m", operation, node(operation))
    };
    assert!(!invokes("otto", "reset") && invokes("otto", "ping"));
    assert!(invokes("maria", "reset"));
    let alarm = node("alarm").unwrap();
    assert!(!policy.access_of(&user("maria")).may_receive(schema, alarm));
    let path = InstancePath::parse_cli_path(schema, "/m:open/secret/key").unwrap();
    let explained = policy.explain(&user("otto"), AccessOperation::Read, &path);
    assert_eq!(explained.reason, AccessReason::Mark(DenyMark::All));
    let explained = policy.explain(&user("maria"), AccessOperation::Read, &path);
    let rule = AccessReason::Rule {
        rule_list: "r".to_owned(),
        rule: "secret".to_owned(),
    };
    assert_eq!((explained.is_permitted, explained.reason), (true, rule));
}

#[test]
fn without_data_reads_are_permitted_and_writes_denied() {
    let tree = tree_of(&[MODEL]);
    put(&tree, json_data(tree.schema(), DATA));
    let policy = policy(&tree);
    assert!(read(&view_of(&tree, &policy, "otto"), "/m:l").is_some());
    let change = r#"{"m:open":{"a":"2"}}"#;
    assert_eq!(denied(write(&tree, &policy, "otto", change)), ["/m:open/a"]);
    let recovery = Caller {
        is_recovery: true,
        ..user("otto")
    };
    assert!(policy.access_of(&recovery).table().is_none());
    put(
        &tree,
        json_data(
            tree.schema(),
            r#"{"ietf-netconf-acm:nacm":{"enable-nacm":false}}"#,
        ),
    );
    let policy = crate::fixture::policy(&tree);
    write(&tree, &policy, "otto", change).unwrap();
}

#[test]
fn groups_of_the_transport_count_if_they_are_enabled() {
    let tree = tree_of(&[MODEL]);
    put(&tree, json_data(tree.schema(), DATA));
    let rules = |external: bool| {
        let rules =
            r#""rule-list":[{"name":"r","group":["ops"],"rule":[{"name":"all","action":"deny"}]}]"#;
        format!(r#"{{"ietf-netconf-acm:nacm":{{"enable-external-groups":{external},{rules}}}}}"#)
    };
    let caller = Caller {
        groups: vec!["ops".to_owned()],
        ..user("otto")
    };
    for (external, is_shown) in [(true, false), (false, true)] {
        put(&tree, json_data(tree.schema(), &rules(external)));
        let access = policy(&tree).access_of(&caller);
        let view = tree.view().unwrap().with_access(access.table().cloned());
        assert_eq!(read(&view, "/m:l").is_some(), is_shown, "{external}");
    }
}

#[test]
fn the_user_variable_names_the_own_entry() {
    let tree = tree_of(&[MODEL]);
    put(&tree, json_data(tree.schema(), DATA));
    let rules = r#"{"ietf-netconf-acm:nacm":{"read-default":"deny",
        "groups":{"group":[{"name":"g","user-name":["maria","otto"]}]},
        "rule-list":[{"name":"r","group":["*"],"rule":[
            {"name":"own","path":"/m:l[m:k=$USER]","action":"permit"}]}]}}"#;
    put(&tree, json_data(tree.schema(), rules));
    let policy = policy(&tree);
    for (name, value) in [("maria", "1"), ("otto", "2")] {
        let all = read(&view_of(&tree, &policy, name), "/").unwrap();
        assert_eq!(
            all,
            format!(r#"{{"m:l":[{{"k":"{name}","v":"{value}"}}]}}"#)
        );
        let own = format!(r#"{{"m:l":[{{"k":"{name}","v":"3"}}]}}"#);
        write(&tree, &policy, name, &own).unwrap();
    }
    let other = r#"{"m:l":[{"k":"otto","v":"4"}]}"#;
    assert_eq!(denied(write(&tree, &policy, "maria", other)), [""]);
}
