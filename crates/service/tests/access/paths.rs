//! The forms of the paths of rules.

use espalier_service::access::{NacmConfig, parse_pattern};

use espalier_testkit::documents::xml_document as xml_data;

use crate::fixture::{json_data, policy, put, tree_of};

const MODEL: &str = "module m { yang-version 1.1; namespace urn:m; prefix p;
    container c { list l { key \"a b\"; leaf a { type string; } leaf b { type uint8; }
        leaf-list v { type string; } container n { leaf x { type string; } } } } }";

const AUGMENT: &str =
    "module n { yang-version 1.1; namespace urn:n; prefix p; import m { prefix m; }
    augment /m:c/m:l { leaf more { type string; } } }";

#[test]
fn predicates_are_optional_and_in_any_order() {
    let tree = tree_of(&[MODEL, AUGMENT]);
    let schema = tree.schema();
    let parse = |text: &str| {
        parse_pattern(schema, text, "maria").unwrap_or_else(|error| panic!("{text}: {error}"))
    };
    let whole = parse("/m:c/m:l[m:a='x'][m:b='1']/m:n");
    for same in [
        "/m:c/m:l[m:b='1'][m:a='x']/m:n",
        "/m:c/l[a='x'][b='1']/n",
        " /m:c / m:l [ m:a = \"x\" ] [ m:b='01' ] / m:n ",
    ] {
        assert_eq!(parse(same), whole, "{same}");
    }
    let keys = |text: &str| parse(text).steps[1].keys.clone();
    assert_eq!(keys("/m:c/m:l"), []);
    assert_eq!(keys("/m:c/m:l[m:b='1']").iter().flatten().count(), 1);
    assert_eq!(keys("/m:c/m:l[a=$USER]"), keys("/m:c/m:l[a='maria']"));
    assert_eq!(
        keys("/m:c/m:l[a=\"it's ]/[\"]")[0]
            .as_ref()
            .unwrap()
            .to_string(),
        "it's ]/["
    );
    assert_eq!(parse("/").steps, []);
    parse("/m:c/m:l/n:more");
    parse("/m:c/m:l/m:v[.='a']");
}

#[test]
fn paths_without_meaning_are_reported_with_the_position() {
    let tree = tree_of(&[MODEL, AUGMENT]);
    for (text, at, message) in [
        ("", 0, "begins with /"),
        ("m:c", 0, "‘/’ is expected"),
        ("/m:c/m:none", 5, "no node ‘m:none’"),
        ("/none:c", 1, "no node ‘none:c’"),
        ("/m:c/m:l[m:a='x'", 16, "‘]’ is expected"),
        ("/m:c/m:l[m:a='x][m:b='1']", 22, "‘]’ is expected"),
        ("/m:c/m:l[m:a=x]", 13, "in quotes"),
        ("/m:c/m:l[m:a='x", 14, "not closed"),
        ("/m:c/m:l[m:b='300']", 18, "the value of ‘b’"),
        ("/m:c/m:l[m:n='1']", 9, "not a key"),
        ("/m:c/m:l[m:a='x'][m:a='y']", 26, "twice"),
        ("/m:c/m:l[1]", 9, "no node"),
        ("/m:c//m:l", 5, "a name is expected"),
        ("/m:c[.='1']", 6, "leaf-list"),
        ("/ä", 1, "no node ‘ä’"),
    ] {
        let error = parse_pattern(tree.schema(), text, "").expect_err(text);
        assert!(error.message.contains(message), "{text}: {error}");
        assert_eq!(error.at, at, "{text}: {error}");
    }
    let long = "/m:c".repeat(20_000);
    assert!(parse_pattern(tree.schema(), &long, "").is_err());
}

/// Prefixes of XML and names of modules in JSON are the same rule, also if two modules have one prefix.
///
/// §5 row 51
#[test]
fn xml_and_json_documents_give_the_same_rule() {
    let config = |of: &dyn Fn(&espalier_yang::Schema) -> espalier_yang::data::DataTree| {
        let tree = tree_of(&[MODEL, AUGMENT]);
        put(&tree, of(tree.schema()));
        assert_eq!(policy(&tree).problems(), []);
        NacmConfig::read(&tree.view().unwrap()).unwrap().unwrap()
    };
    let xml = config(&|schema| {
        xml_data(
            schema,
            r#"<nacm xmlns="urn:ietf:params:xml:ns:yang:ietf-netconf-acm"><rule-list><name>r</name><group>*</group>
            <rule><name>q</name><path xmlns:x="urn:m" xmlns:y="urn:n">/x:c/x:l[x:a='k']/y:more</path>
            <access-operations>read</access-operations><action>permit</action></rule></rule-list></nacm>"#,
        )
    });
    let json = config(&|schema| {
        json_data(
            schema,
            r#"{"ietf-netconf-acm:nacm":{"rule-list":[{"name":"r","group":["*"],"rule":[{"name":"q",
            "path":"/m:c/m:l[m:a='k']/n:more","access-operations":"read","action":"permit"}]}]}}"#,
        )
    });
    let short = config(&|schema| {
        json_data(
            schema,
            r#"{"ietf-netconf-acm:nacm":{"rule-list":[{"name":"r","group":["*"],"rule":[{"name":"q",
            "path":"/m:c/l[a='k']/n:more","access-operations":"read","action":"permit"}]}]}}"#,
        )
    });
    // XML is stored in the short form.
    assert_eq!(xml, short);
    let pattern = |config: &NacmConfig| {
        let tree = tree_of(&[MODEL, AUGMENT]);
        match &config.rule_lists[0].rules[0].kind {
            espalier_service::access::RuleKind::Data(path) => {
                parse_pattern(tree.schema(), path, "").unwrap()
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(pattern(&json), pattern(&short));
}
