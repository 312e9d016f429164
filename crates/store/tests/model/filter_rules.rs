//! The rules of filters, one case each (RFC 6241 §6, §8.9).

use espalier_store::{Filter, FilterExpression, LoadMode, Selection, Tree, WithDefaults};
use espalier_yang::ErrorTag;
use espalier_yang::data::subtree_filter::{SUBTREE_FILTER_DEPTH_MAX, SubtreeFilter};
use espalier_yang::data::{PrintOptions, json};

use crate::fixture::{load_json, memory_tree};

const MODEL: &str = r#"module m { yang-version 1.1; namespace urn:m; prefix m;
  import ietf-inet-types { prefix inet; }
  identity kind; identity ethernet { base kind; } identity atm { base kind; }
  leaf host { type string; }
  container top {
    list interface {
      key name;
      leaf name { type string; }
      leaf kind { type identityref { base kind; } }
      leaf mtu { type uint16; default 1500; }
      leaf address { type inet:ipv6-address; }
      leaf either { type union { type uint8; type string; } }
      leaf-list tag { type string; }
      container stats { leaf in { type uint64; } leaf out { type uint64; } }
    }
    list route { key "prefix hop"; leaf prefix { type string; } leaf hop { type string; } leaf cost { type int32; } }
    container off { leaf x { type string; default "d"; } }
  }
  container other { leaf name { type string; } }
}"#;

const INET: &str = "ietf-inet-types";

const DATA: &str = r#"{"m:host":"h","m:top":{
  "interface":[
    {"name":"a","kind":"ethernet","mtu":16,"address":"2001:db8::1","either":8,"tag":["x","y"],"stats":{"in":"1","out":"2"}},
    {"name":"b","kind":"atm","either":"text","tag":["y"]},
    {"name":"c"}],
  "route":[{"prefix":"p","hop":"1","cost":7},{"prefix":"p","hop":"2"},{"prefix":"q","hop":"1"}]},
  "m:other":{"name":"a"}}"#;

fn tree() -> Tree {
    let inet = espalier_yang::standard::module(INET, None).expect("a standard module");
    let mut source = crate::fixture::source(MODEL);
    source.modules.push(inet.source());
    let store = crate::fixture::open_store(espalier_drivers::open("memory:").unwrap());
    store.create_dataspace("d").unwrap();
    let created = store.create_schema_set("d", "s", &source);
    created.unwrap_or_else(|error| panic!("{error}"));
    store.create_anchor("d", "a", "s").unwrap();
    let tree = store
        .tree("d", "a", espalier_store::Datastore::Running)
        .unwrap();
    load_json(&tree, LoadMode::Create, DATA).unwrap();
    tree
}

/// What a filter selects, without the quotes of JSON.
fn selected(tree: &Tree, filter: &Filter, selection: &Selection) -> String {
    let view = tree.view().unwrap();
    let mut printer = json::Printer::new(view.schema(), Vec::new(), PrintOptions::default());
    view.read_filtered(filter, selection, &mut printer).unwrap();
    let text = String::from_utf8(printer.finish().unwrap()).unwrap();
    text.replace('"', "").replace("m:top:", "top:")
}

fn subtree(tree: &Tree, text: &str) -> String {
    let filter = Filter::Subtree(SubtreeFilter::parse_xml(text).expect(text));
    selected(tree, &filter, &Selection::default())
}

/// A subtree filter below `top`.
fn within(tree: &Tree, text: &str) -> String {
    let found = subtree(
        tree,
        &format!("<t:top xmlns:t='urn:m' xmlns='urn:m'>{text}</t:top>"),
    );
    let inside = found
        .strip_prefix("{top:{")
        .and_then(|text| text.strip_suffix("}}"));
    inside.unwrap_or(&found).to_owned()
}

const A: &str = "interface:[{name:a,kind:m:ethernet,mtu:16,address:2001:db8::1,either:8,tag:[x,y],stats:{in:1,out:2}}]";
const B: &str = "interface:[{name:b,kind:m:atm,either:text,tag:[y]}]";
const NONE: &str = "{}";

/// The identity had to have the prefix of the model (netopeer2 1056).
#[test]
fn content_match_nodes_compare_values_by_type() {
    let tree = tree();
    for (leaf, expected) in [
        ("<kind xmlns:x='urn:m'>x:ethernet</kind>", A),
        ("<kind>ethernet</kind>", A),
        ("<kind>m:ethernet</kind>", A),
        ("<kind xmlns:m='urn:other'>m:ethernet</kind>", NONE),
        ("<mtu>0x10</mtu>", A),
        ("<mtu> \n 16 </mtu>", A),
        ("<mtu>sixteen</mtu>", NONE),
        ("<address>2001:0DB8:0::0:1</address>", A),
        ("<either>8</either>", A),
        ("<either>text</either>", B),
        ("<tag>x</tag>", A),
        ("<tag>x</tag><tag>y</tag>", A),
        ("<tag>y</tag><kind>atm</kind>", B),
        ("<name>a</name><kind>atm</kind>", NONE),
        ("<name>a</name><name>b</name>", NONE),
        ("<name>z</name>", NONE),
        ("<stats>1</stats>", NONE),
        ("<nothing>1</nothing>", NONE),
    ] {
        let found = within(&tree, &format!("<interface>{leaf}</interface>"));
        assert_eq!(found, expected, "{leaf}");
    }
}

/// Content match alone returned all entries (netopeer2 824, clixon 100), two subtrees of one entry came twice (libnetconf
/// 81, 84).
#[test]
fn subtrees_select_as_rfc_6241_describes() {
    let tree = tree();
    for (text, expected) in [
        ("<interface><name>a</name></interface>", A),
        (
            "<interface><name>a</name><mtu/></interface>",
            "interface:[{name:a,mtu:16}]",
        ),
        (
            "<interface><name>c</name><mtu/></interface>",
            "interface:[{name:c}]",
        ),
        (
            "<interface><mtu/></interface>",
            "interface:[{name:a,mtu:16}]",
        ),
        (
            "<interface><name/></interface>",
            "interface:[{name:a},{name:b},{name:c}]",
        ),
        (
            "<interface><stats><in/></stats></interface>",
            "interface:[{name:a,stats:{in:1}}]",
        ),
        (
            "<interface><stats><in>1</in></stats></interface>",
            "interface:[{name:a,stats:{in:1,out:2}}]",
        ),
        ("<interface><stats><in>9</in></stats></interface>", NONE),
        (
            "<interface><tag>y</tag><name/></interface>",
            "interface:[{name:a,tag:[y]},{name:b,tag:[y]}]",
        ),
        (
            "<interface><name>a</name><mtu/></interface><interface><name>a</name><stats><out/></stats></interface>",
            "interface:[{name:a,mtu:16,stats:{out:2}}]",
        ),
        (
            "<interface><name>b</name></interface><interface><name>a</name><mtu/></interface>",
            "interface:[{name:a,mtu:16},{name:b,kind:m:atm,either:text,tag:[y]}]",
        ),
        (
            "<route><prefix>p</prefix><hop/></route>",
            "route:[{prefix:p,hop:1},{prefix:p,hop:2}]",
        ),
        (
            "<route><hop>1</hop><cost/></route>",
            "route:[{prefix:p,hop:1,cost:7},{prefix:q,hop:1}]",
        ),
    ] {
        assert_eq!(within(&tree, text), expected, "{text}");
    }
}

#[test]
fn names_and_attributes_that_nothing_has_select_nothing() {
    let tree = tree();
    for (text, expected) in [
        ("<nothing/><interface><nothing/></interface>", NONE),
        ("<interface xmlns='urn:other'/>", NONE),
        ("<interface xmlns=''><name>b</name></interface>", B),
        (
            "<interface b:operation='delete' xmlns:b='urn:ietf:params:xml:ns:netconf:base:1.0'><name>b</name></interface>",
            B,
        ),
        ("<interface name='b'/>", NONE),
        ("<off/>", NONE),
    ] {
        assert_eq!(within(&tree, text), expected, "{text}");
    }
    for (text, expected) in [
        ("", NONE),
        (" <!-- nothing --> ", NONE),
        ("<unknown xmlns='urn:m'/>", NONE),
        ("<host xmlns='urn:m'>h</host>", "{m:host:h}"),
        (
            "<host xmlns='urn:m'>g</host><other xmlns='urn:m'/>",
            "{m:other:{name:a}}",
        ),
        (
            "<other xmlns='urn:m'/><host/>",
            "{m:host:h,m:other:{name:a}}",
        ),
    ] {
        assert_eq!(subtree(&tree, text), expected, "{text}");
    }
}

/// Unprefixed names and `/` (netopeer2 309, 384).
#[test]
fn expressions_select_nodes_with_their_subtrees_ancestors_and_keys() {
    let tree = tree();
    let parse = |text: &str| {
        FilterExpression::parse(tree.schema(), text, &|prefix| match prefix {
            Some("x") => Some("urn:m".into()),
            Some("y") => Some("urn:other".into()),
            Some(_) => None,
            None => Some("urn:ietf:params:xml:ns:netconf:base:1.0".into()),
        })
    };
    let all = selected(&tree, &Filter::All, &Selection::default());
    for (text, expected) in [
        ("/", all.as_str()),
        ("/*", &all),
        ("/x:host", "{m:host:h}"),
        ("/host | /m:other", "{m:host:h,m:other:{name:a}}"),
        ("/y:host", NONE),
        ("/unknown", NONE),
        ("/top/interface[x:name='c']", "{top:{interface:[{name:c}]}}"),
        ("/top/interface[name='c']/mtu", NONE),
        (
            "/top/interface[mtu=1500]/name",
            "{top:{interface:[{name:b},{name:c}]}}",
        ),
        (
            "/top/interface[kind='x:atm']/tag",
            "{top:{interface:[{name:b,tag:[y]}]}}",
        ),
        ("//out", "{top:{interface:[{name:a,stats:{out:2}}]}}"),
        (
            "/top/route[prefix='p'][hop='2']",
            "{top:{route:[{prefix:p,hop:2}]}}",
        ),
        (
            "/top/route[prefix='q']/hop",
            "{top:{route:[{prefix:q,hop:1}]}}",
        ),
        ("/top/route[last()]", "{top:{route:[{prefix:q,hop:1}]}}"),
        ("//tag[.='x']/../name", "{top:{interface:[{name:a}]}}"),
    ] {
        let filter = Filter::XPath(parse(text).expect(text));
        let found = selected(&tree, &filter, &Selection::default());
        assert_eq!(found, expected, "{text}");
    }
    for text in [
        "",
        "/x:top[",
        "1 + 1",
        "count(/top)",
        "'a'",
        "/top = 1",
        "/z:top",
        "not(/top)",
    ] {
        let error = parse(text).expect_err(text);
        assert_eq!(error.tag, ErrorTag::InvalidValue, "{text}");
    }
}

/// Defaults are reported in unset branches (clixon 384), and empty containers are not (netopeer2 189).
#[test]
fn filters_see_the_defaults_of_the_report_modes() {
    let tree = tree();
    let read = |text: &str, with_defaults: WithDefaults| {
        let text = format!("<top xmlns='urn:m'>{text}</top>");
        let filter = Filter::Subtree(SubtreeFilter::parse_xml(&text).unwrap());
        let selection = Selection {
            with_defaults,
            ..Selection::default()
        };
        selected(&tree, &filter, &selection)
    };
    let default = "<interface><mtu>1500</mtu><mtu/></interface>";
    let both = "{top:{interface:[{name:b,mtu:1500},{name:c,mtu:1500}]}}";
    assert_eq!(read(default, WithDefaults::Explicit), NONE);
    assert_eq!(read(default, WithDefaults::ReportAll), both);
    assert_eq!(read("<off/>", WithDefaults::Explicit), NONE);
    assert_eq!(read("<off/>", WithDefaults::ReportAll), "{top:{off:{x:d}}}");
    assert_eq!(
        read("<off><x>d</x></off>", WithDefaults::ReportAll),
        "{top:{off:{x:d}}}"
    );
    assert_eq!(read("<off><x>e</x></off>", WithDefaults::ReportAll), NONE);
}

#[test]
fn limits_of_filters_are_errors() {
    let tag = |text: &str| SubtreeFilter::parse_xml(text).expect_err("an error").tag;
    let deep = SUBTREE_FILTER_DEPTH_MAX + 1;
    assert_eq!(
        tag(&("<a>".repeat(deep) + &"</a>".repeat(deep))),
        ErrorTag::TooBig
    );
    assert_eq!(tag(&"<a/>".repeat(100_001)), ErrorTag::TooBig);
    for wrong in ["<a>", "<a></b>", "<p:a/>", "<!DOCTYPE a><a/>", "<a>&x;</a>"] {
        assert_eq!(tag(wrong), ErrorTag::MalformedMessage, "{wrong}");
    }
    // A filter of one entry each for many entries reads each once.
    let tree = memory_tree(crate::fixture::MODEL);
    let entry = |number: usize| format!("<named><name>n{number}</name></named>");
    let text: String = (0..30_000).map(entry).collect();
    assert_eq!(subtree(&tree, &text), NONE);
}
