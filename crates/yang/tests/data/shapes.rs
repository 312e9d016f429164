//! The content of documents, the positions of errors, and the form of one tree in each format.

use crate::documents::{
    errors_of, json_of, parse_json, parse_xml, schema, tree_of_json, tree_of_xml, xml_of,
};
use espalier_yang::data::{
    Accept, Content, Envelope, Layout, MetadataMode, Operation, ParseOptions, PrintError,
    PrintOptions, Root, json, xml,
};
use espalier_yang::schema::{ModuleSource, Schema, SchemaSource};
use espalier_yang::standard::{self, StandardModule};

fn farm_child(schema: &Schema, name: &str) -> espalier_yang::NodeId {
    let module = schema.module_by_name("farm").unwrap();
    let farm = schema.child(None, module, "farm").unwrap();
    schema.child(Some(farm), module, name).unwrap()
}

#[test]
fn every_kind_of_node_passes_through_both_formats() {
    let schema = schema();
    let json = r#"{"farm:farm":{"name":"Home","barn":{"int8":-5,"int64":"-9","uint64":"18446744073709551615","decimal":"1.5","text":"a\"<&>\n\t ]]>é😀","flag":true,"colour":"dark blue","tools":"rake spade","blob":"AAEC","marker":[null],"kind":"orchard:goose","target":"/farm:farm/field[name='x y']/row[number='3'][side='left']/crop","mixed":[null],"tags":["","b"],"events":["x","x"]},"gate":{},"field":[{"name":"a","row":[{"number":-3,"side":"left","soil":{"acidity":"5.5"}},{"number":2,"side":"right"}],"orchard:birds":["farm:hen","orchard:hen"]},{"name":"b'\"/"}],"pen":[{"kind":"farm:cow","blob":"","flag":false}],"mill":"m","weather":{"reading":[{"at":1},{"at":1}]},"note":{"orchard:cellar":{"bottles":4}},"letter":[1,{"x":null}],"orchard:name":"other","orchard:trees":{"tree":[{"id":1,"sorts":["b","a"]}]}},"farm:motto":"m","farm:neighbours":["n"],"farm:market":[{"day":"monday"}],"orchard:cellar":{"bottles":1,"papers":{}}}"#;
    let tree = tree_of_json(&schema, json);
    assert_eq!(json_of(&schema, &tree), json);
    let xml = xml_of(&schema, &tree);
    let again = tree_of_xml(&schema, &xml);
    assert!(again.is_equivalent(&tree, &schema));
    assert_eq!(json_of(&schema, &again), json);
}

#[test]
fn xml_is_read_with_its_own_prefixes_and_lines() {
    let schema = schema();
    let xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<data xmlns=\"urn:ietf:params:xml:ns:yang:ietf-restconf\">\n<x:farm xmlns:x=\"urn:espalier:test:farm\" xmlns:y=\"urn:espalier:test:orchard\"><!-- c -->\n  <x:barn><x:kind>y:goose</x:kind><x:text><![CDATA[<a>&]]>&#233;&lt;</x:text>\n<x:target>/x:farm/x:pen[x:kind='y:hen'][x:blob=''][x:flag='true']/x:count</x:target></x:barn>\n</x:farm></data>\n";
    let tree = tree_of_xml(&schema, xml);
    let json = r#"{"farm:farm":{"barn":{"kind":"orchard:goose","text":"<a>&é<","target":"/farm:farm/pen[kind='orchard:hen'][blob=''][flag='true']/count"}}}"#;
    assert_eq!(json_of(&schema, &tree), json);
    assert_eq!(tree.nodes[0].mark.line, 3);
    assert_eq!(tree.nodes[0].children()[0].children()[2].mark.line, 5);
}

#[test]
fn every_json_error_is_reported_with_its_line_and_path() {
    let schema = schema();
    let json = "{\n\"farm:farm\": {\n \"barn\": {\n  \"int8\": 200,\n  \"flag\": \"true\",\n  \"nothing\": {\"x\": [1]},\n  \"tags\": [\"a\",\n   \"a\"],\n  \"int8\": 1\n },\n \"field\": [\n  {\"name\": \"a\"},\n  {\"size\": 1},\n  {\"name\": \"a\",\n   \"row\": [{\"number\": 1, \"crop\": \"c\"}]}\n ],\n \"gate\": 5,\n \"nowhere:x\": 1,\n \"mill\": \"m\",\n \"wheel\": {}\n},\n\"motto\": \"unqualified\"\n}";
    let errors = errors_of(parse_json(
        &schema,
        json,
        Root::Datastore,
        &ParseOptions::default(),
    ));
    let expected = [
        (4, "invalid-value", "/farm:farm/barn/int8"),
        (5, "invalid-value", "/farm:farm/barn/flag"),
        (6, "unknown-element", "/farm:farm/barn"),
        (8, "bad-element", "/farm:farm/barn/tags[.='a']"),
        (9, "bad-element", "/farm:farm/barn/int8"),
        (13, "missing-element", "/farm:farm/field"),
        (
            15,
            "missing-element",
            "/farm:farm/field[name='a']/row[number='1']",
        ),
        (14, "bad-element", "/farm:farm/field[name='a']"),
        (17, "invalid-value", "/farm:farm/gate"),
        (18, "unknown-namespace", "/farm:farm"),
        (20, "bad-element", "/farm:farm/wheel"),
        (22, "unknown-element", ""),
    ];
    assert_eq!(
        errors,
        expected.map(|(line, tag, path)| (line, tag, path.to_owned()))
    );
}

#[test]
fn every_xml_error_is_reported_with_its_line_and_path() {
    let schema = schema();
    let xml = "<farm xmlns=\"urn:espalier:test:farm\">\n <barn>\n  <int8>200</int8>\n  <nothing><x>1</x></nothing>\n  <tags>a</tags>\n  <tags>a</tags>\n  <flag>true</flag><flag>true</flag>\n  <text>a<b/></text>\n </barn>text\n <field><name>a</name></field>\n <field>\n  <size>1</size>\n </field>\n <field>\n  <name>a</name>\n </field>\n <other xmlns=\"urn:other\"/>\n</farm>";
    let errors = errors_of(parse_xml(
        &schema,
        xml,
        Root::Datastore,
        &ParseOptions::default(),
    ));
    let expected = [
        (3, "invalid-value", "/farm:farm/barn/int8"),
        (4, "unknown-element", "/farm:farm/barn"),
        (6, "bad-element", "/farm:farm/barn/tags[.='a']"),
        (7, "bad-element", "/farm:farm/barn/flag"),
        (8, "bad-element", "/farm:farm/barn/text"),
        (9, "bad-element", "/farm:farm"),
        (11, "missing-element", "/farm:farm/field"),
        (14, "bad-element", "/farm:farm/field[name='a']"),
        (17, "unknown-namespace", "/farm:farm"),
    ];
    assert_eq!(
        errors,
        expected.map(|(line, tag, path)| (line, tag, path.to_owned()))
    );
}

#[test]
fn malformed_documents_end_where_they_break() {
    let schema = schema();
    let options = ParseOptions::default();
    for json in [
        "",
        "[]",
        "{\"farm:motto\":\"a\"",
        "{\"farm:motto\":\"a\"}}",
        "{\"farm:motto\" \"a\"}",
        "{,}",
        "{\"farm:motto\":\"a\",}",
    ] {
        let errors = errors_of(parse_json(&schema, json, Root::Datastore, &options));
        assert_eq!(errors.last().unwrap().1, "malformed-message", "{json}");
    }
    let deep = "<a>".repeat(10_000);
    let bomb =
        "<!DOCTYPE a [<!ENTITY b \"bb\">]><motto xmlns=\"urn:espalier:test:farm\">&b;</motto>";
    let unknown = "<motto xmlns=\"urn:espalier:test:farm\">&b;</motto>";
    for xml in [
        "<motto",
        "<a></b>",
        "x",
        "<p:a/>",
        "<motto xmlns=\"urn:espalier:test:farm\">",
        &deep,
        bomb,
        unknown,
    ] {
        let errors = errors_of(parse_xml(&schema, xml, Root::Datastore, &options));
        assert_eq!(errors.last().unwrap().1, "malformed-message", "{xml:.40}");
    }
}

#[test]
fn a_resource_is_one_node() {
    let schema = schema();
    let options = ParseOptions::default();
    let field = farm_child(&schema, "field");
    let one = r#"{"farm:field":[{"name":"a"}]}"#;
    let tree = parse_json(&schema, one, Root::Resource(field), &options).unwrap();
    assert_eq!(json_of(&schema, &tree), one);
    assert_eq!(
        xml_of(&schema, &tree),
        "<field xmlns=\"urn:espalier:test:farm\"><name>a</name></field>"
    );
    let farm = schema.node(field).parent;
    assert!(parse_json(&schema, one, Root::ChildOf(farm), &options).is_ok());
    for bad in [
        "{}",
        r#"{"farm:field":[]}"#,
        r#"{"farm:field":[{"name":"a"},{"name":"b"}]}"#,
        r#"{"farm:gate":{}}"#,
        r#"{"farm:field":[{"name":"a"}],"farm:gate":{}}"#,
    ] {
        assert!(
            parse_json(&schema, bad, Root::Resource(field), &options).is_err(),
            "{bad}"
        );
    }
    for bad in [
        "",
        "<field xmlns=\"urn:espalier:test:farm\"><name>a</name></field><field xmlns=\"urn:espalier:test:farm\"><name>b</name></field>",
        "<gate xmlns=\"urn:espalier:test:farm\"/>",
    ] {
        assert!(
            parse_xml(&schema, bad, Root::Resource(field), &options).is_err(),
            "{bad}"
        );
    }
}

#[test]
fn operations_and_notifications_are_resources() {
    let schema = schema();
    let module = schema.module_by_name("farm").unwrap();
    let options = ParseOptions::default();
    let harvest = schema.child(None, module, "harvest").unwrap();
    let input = schema.child(Some(harvest), module, "input").unwrap();
    let json = r#"{"farm:input":{"field":"a","worker":[{"name":"n"}]}}"#;
    let tree = parse_json(&schema, json, Root::Resource(input), &options).unwrap();
    assert_eq!(json_of(&schema, &tree), json);
    let xml = xml_of(&schema, &tree);
    assert!(
        parse_xml(&schema, &xml, Root::Resource(input), &options)
            .unwrap()
            .is_equivalent(&tree, &schema)
    );
    let storm = schema.child(None, module, "storm").unwrap();
    let json = r#"{"farm:storm":{"strength":9}}"#;
    assert!(parse_json(&schema, json, Root::Resource(storm), &options).is_ok());
    assert!(parse_json(&schema, json, Root::Datastore, &options).is_err());
    assert!(parse_json(&schema, r#"{"farm:harvest":{}}"#, Root::Datastore, &options).is_err());
}

#[test]
fn state_data_is_rejected_if_only_configuration_is_accepted() {
    let schema = schema();
    let options = ParseOptions {
        accept: Accept::Config,
        ..ParseOptions::default()
    };
    let json = r#"{"farm:farm":{"weather":{"rain":1}}}"#;
    let errors = errors_of(parse_json(&schema, json, Root::Datastore, &options));
    assert_eq!(errors, [(1, "unknown-element", "/farm:farm".to_owned())]);
}

#[test]
fn the_datastore_may_be_wrapped() {
    let schema = schema();
    let plain = tree_of_json(&schema, r#"{"farm:motto":"m"}"#);
    let wrapped = tree_of_json(&schema, r#"{"ietf-restconf:data":{"farm:motto":"m"}}"#);
    assert!(wrapped.is_equivalent(&plain, &schema));
    let xml = "<config xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\"><motto xmlns=\"urn:espalier:test:farm\">m</motto></config>";
    assert!(tree_of_xml(&schema, xml).is_equivalent(&plain, &schema));
}

#[test]
fn annotations_of_edits_are_kept_in_any_position() {
    let schema = schema();
    let options = ParseOptions {
        metadata: MetadataMode::Kept,
        ..ParseOptions::default()
    };
    let json = r#"{"farm:farm":{"@":{"ietf-netconf:operation":"none"},"@name":{"ietf-netconf:operation":"replace"},"name":"n","@orchard:name":{"ietf-netconf:operation":"delete"},"field":[{"name":"a","step":[{"@":{"yang:insert":"after","yang:key":"[farm:id='01']"},"id":"2"}]}],"barn":{"order":["a","b","c"],"@order":[null,{"yang:insert":"first"}],"int8":5,"@int8":{"ietf-netconf-with-defaults:default":true}}}}"#;
    let tree = parse_json(&schema, json, Root::Datastore, &options).unwrap();
    let farm = &tree.nodes[0];
    assert_eq!(farm.operation(), Some(Operation::None));
    let name = farm.child(farm_child(&schema, "name")).unwrap();
    assert_eq!(name.operation(), Some(Operation::Replace));
    let bare = farm
        .children()
        .iter()
        .find(|node| node.content == Content::Bare)
        .unwrap();
    assert_eq!(bare.operation(), Some(Operation::Delete));
    let printed = json_of(&schema, &tree);
    let expected = r#"{"farm:farm":{"@":{"ietf-netconf:operation":"none"},"name":"n","@name":{"ietf-netconf:operation":"replace"},"field":[{"name":"a","step":[{"@":{"yang:insert":"after","yang:key":"[id='1']"},"id":"2"}]}],"barn":{"order":["a","b","c"],"@order":[null,{"yang:insert":"first"}],"int8":5,"@int8":{"ietf-netconf-with-defaults:default":true}},"@orchard:name":{"ietf-netconf:operation":"delete"}}}"#;
    assert_eq!(printed, expected);
    let xml = xml_of(&schema, &tree);
    let again = parse_xml(&schema, &xml, Root::Datastore, &options).unwrap();
    assert!(again.is_equivalent(&tree, &schema), "{xml}");
    let wrong = [
        r#"{"farm:motto":"m","@farm:motto":{"ietf-netconf:operation":"destroy"}}"#,
        r#"{"farm:motto":"m","@farm:motto":5}"#,
        r#"{"@farm:motto":{"ietf-netconf:operation":"merge"}}"#,
    ];
    for json in wrong {
        assert!(
            parse_json(&schema, json, Root::Datastore, &options).is_err(),
            "{json}"
        );
        assert!(
            parse_json(&schema, json, Root::Datastore, &ParseOptions::default()).is_ok(),
            "{json}"
        );
    }
}

/// RFC 7952 §5.2.2: the metadata of an anydata is a member of its object.
#[test]
fn annotations_of_anydata_are_inside_its_object() {
    let schema = schema();
    let options = ParseOptions {
        metadata: MetadataMode::Kept,
        ..ParseOptions::default()
    };
    for json in [
        r#"{"farm:farm":{"note":{"@":{"ietf-netconf:operation":"replace"},"orchard:cellar":{"bottles":4}}}}"#,
        r#"{"farm:farm":{"note":{"@":{"ietf-netconf:operation":"replace"}}}}"#,
    ] {
        let tree = parse_json(&schema, json, Root::Datastore, &options).unwrap();
        let note = tree.nodes[0].child(farm_child(&schema, "note")).unwrap();
        assert_eq!(note.operation(), Some(Operation::Replace));
        assert_eq!(json_of(&schema, &tree), json);
        let again = parse_xml(&schema, &xml_of(&schema, &tree), Root::Datastore, &options);
        assert!(again.unwrap().is_equivalent(&tree, &schema));
    }
}

/// If a limit ends reading, the error names the node that is too large.
#[test]
fn the_error_of_a_too_long_value_names_its_node() {
    let schema = schema();
    let long = "x".repeat(json::TOKEN_LENGTH_MAX + 1);
    let options = ParseOptions::default();
    let leaf = format!(r#"{{"farm:farm":{{"barn":{{"int8":1,"text":"{long}"}}}}}}"#);
    let any = format!(r#"{{"farm:farm":{{"barn":{{"int8":1}},"letter":["{long}"]}}}}"#);
    let xml =
        format!("<farm xmlns=\"urn:espalier:test:farm\"><barn><text>{long}</text></barn></farm>");
    let found = [
        errors_of(parse_json(&schema, &leaf, Root::Datastore, &options)),
        errors_of(parse_xml(&schema, &xml, Root::Datastore, &options)),
        errors_of(parse_json(&schema, &any, Root::Datastore, &options)),
    ];
    let expected = [
        "/farm:farm/barn/text",
        "/farm:farm/barn/text",
        "/farm:farm/letter",
    ];
    for (found, path) in found.into_iter().zip(expected) {
        assert_eq!(found, [(1, "too-big", path.to_owned())]);
    }
}

#[test]
fn any_content_round_trips() {
    let schema = schema();
    let contents = [
        ("", "{}"),
        (
            "<cellar xmlns=\"urn:espalier:test:orchard\"><bottles>4</bottles></cellar>",
            r#"{"orchard:cellar":{"bottles":4}}"#,
        ),
        (
            "<p:b xmlns:p=\"urn:p\" p:c=\"d&quot;\">x<e/>&lt;y</p:b>",
            r#"{"espalier:xml":"<p:b xmlns=\"urn:espalier:test:farm\" xmlns:p=\"urn:p\" p:c=\"d&quot;\">x<e></e>&lt;y</p:b>"}"#,
        ),
    ];
    for (xml, json) in contents {
        let document = format!("<farm xmlns=\"urn:espalier:test:farm\"><note>{xml}</note></farm>");
        let tree = tree_of_xml(&schema, &document);
        assert_eq!(
            json_of(&schema, &tree),
            format!(r#"{{"farm:farm":{{"note":{json}}}}}"#)
        );
        let again = tree_of_xml(&schema, &xml_of(&schema, &tree));
        assert_eq!(json_of(&schema, &again), json_of(&schema, &tree));
    }
    let injected = r#"{"farm:farm":{"note":{"espalier:xml":"</note><motto/>"}}}"#;
    let xml = xml_of(&schema, &tree_of_json(&schema, injected));
    assert!(!xml.contains("<motto/>"), "{xml}");
    assert_eq!(json_of(&schema, &tree_of_xml(&schema, &xml)), injected);
}

#[test]
fn printing_reports_interleaved_entries() {
    let schema = schema();
    let xml = "<farm xmlns=\"urn:espalier:test:farm\"><field><name>b</name></field><gate/><field><name>a</name></field></farm>";
    let mut tree = tree_of_xml(&schema, xml);
    let print = |tree: &espalier_yang::data::DataTree| {
        let mut printer = json::Printer::new(&schema, Vec::new(), PrintOptions::default());
        let _ = tree.emit(&mut printer);
        printer
            .finish()
            .map(|text| String::from_utf8(text).unwrap())
    };
    assert!(matches!(print(&tree), Err(PrintError::NotContiguous(_))));
    tree.normalise(&schema);
    let json = r#"{"farm:farm":{"gate":{},"field":[{"name":"a"},{"name":"b"}]}}"#;
    assert_eq!(print(&tree).unwrap(), json);
}

#[test]
fn layouts_and_envelopes() {
    let schema = schema();
    let json = r#"{"farm:farm":{"barn":{"tags":["a","b"]},"field":[{"name":"x"},{"name":"y"}],"gate":{}}}"#;
    let tree = tree_of_json(&schema, json);
    let options = PrintOptions {
        layout: Layout::Pretty,
        envelope: Some(Envelope::RESTCONF_DATA),
    };
    let mut printer = json::Printer::new(&schema, Vec::new(), options);
    tree.emit(&mut printer).unwrap();
    let printed = String::from_utf8(printer.finish().unwrap()).unwrap();
    let expected = r#"{
  "ietf-restconf:data": {
    "farm:farm": {
      "barn": {
        "tags": [
          "a",
          "b"
        ]
      },
      "field": [
        {
          "name": "x"
        },
        {
          "name": "y"
        }
      ],
      "gate": {}
    }
  }
}
"#;
    assert_eq!(printed, expected);
    let mut printer = xml::Printer::new(&schema, Vec::new(), options);
    tree.emit(&mut printer).unwrap();
    let printed = String::from_utf8(printer.finish().unwrap()).unwrap();
    let expected = r#"<data xmlns="urn:ietf:params:xml:ns:yang:ietf-restconf">
  <farm xmlns="urn:espalier:test:farm">
    <barn>
      <tags>a</tags>
      <tags>b</tags>
    </barn>
    <field>
      <name>x</name>
    </field>
    <field>
      <name>y</name>
    </field>
    <gate/>
  </farm>
</data>
"#;
    assert_eq!(printed, expected);
    assert!(tree_of_xml(&schema, &printed).is_equivalent(&tree, &schema));
}

/// A data set next to the repository on the machines of the maintainers.
#[test]
fn openroadm_devices_pass_through_both_formats() {
    let shared =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/openroadm");
    let Ok(device) = std::fs::read_to_string(shared.join("device.json")) else {
        return;
    };
    let files = std::fs::read_dir(shared.join("yang")).unwrap();
    let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let source = espalier_yang::schema::SchemaSource {
        modules: texts
            .map(|text| espalier_yang::schema::ModuleSource::from_text(text).unwrap())
            .collect(),
        implement: vec!["openroadm-devices-inventory-v2".to_owned()],
        ..Default::default()
    };
    let schema = Schema::compile(&source).unwrap();
    let devices: Vec<String> = (1..=20)
        .map(|number| device.replace("NODE_ID_HERE", &number.to_string()))
        .collect();
    let json = format!(
        r#"{{"openroadm-devices-inventory-v2:openroadm-devices":{{"openroadm-device":[{}]}}}}"#,
        devices.join(",")
    );
    let tree = tree_of_json(&schema, &json);
    let printed: serde_json::Value = serde_json::from_str(&json_of(&schema, &tree)).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(printed == expected, "{printed}");
    let again = tree_of_xml(&schema, &xml_of(&schema, &tree));
    assert!(again.is_equivalent(&tree, &schema));
}

#[test]
fn characters_not_allowed_in_yang_are_rejected() {
    let schema = schema();
    let options = ParseOptions::default();
    for character in [
        '\u{1}',
        '\u{b}',
        '\u{fdd0}',
        '\u{fffe}',
        '\u{ffff}',
        '\u{1fffe}',
        '\u{10ffff}',
    ] {
        let text = serde_json::Value::from(format!("a{character}b"));
        for json in [
            format!(r#"{{"farm:motto":{text}}}"#),
            format!(r#"{{"farm:farm":{{"letter":[{text}]}}}}"#),
        ] {
            let errors = errors_of(parse_json(&schema, &json, Root::Datastore, &options));
            assert_eq!(errors[0].1, "invalid-value", "{json:?}");
        }
        for text in [
            format!("{character}"),
            format!("&#{};", u32::from(character)),
        ] {
            let xml = format!("<motto xmlns=\"urn:espalier:test:farm\">{text}</motto>");
            assert!(
                parse_xml(&schema, &xml, Root::Datastore, &options).is_err(),
                "{xml:?}"
            );
        }
    }
}

/// Both formats accept the same expressions: prefixes must refer to a module of the schema.
#[test]
fn an_expression_as_data_is_accepted_by_both_formats_or_none() {
    let module = r#"module m { yang-version 1.1; namespace "urn:m"; prefix p;
        import ietf-yang-types { prefix yang; }
        container c { leaf x { type yang:xpath1.0; } } }"#;
    let source = SchemaSource {
        modules: vec![ModuleSource::from_text(module).unwrap()],
        ..SchemaSource::default()
    };
    let schema = Schema::compile(&source).unwrap();
    // In XML the prefix `m` is declared for the module of that name, and `gone` for no module.
    let cases = [
        ("/m:c/m:x", true),
        ("//m:*", true),
        ("/c", true),
        ("1 + count(/m:c)", true),
        ("/nowhere:c", false),
        ("/gone:c", false),
        ("/m:c[nowhere:x = 1]", false),
        ("/m:c/", false),
        ("f(", false),
        ("'nowhere:x'", true),
    ];
    for (expression, is_accepted) in cases {
        let json = format!(r#"{{"m:c":{{"x":"{expression}"}}}}"#);
        let xml = format!(
            "<c xmlns=\"urn:m\" xmlns:m=\"urn:m\" xmlns:gone=\"urn:gone\"><x>{expression}</x></c>"
        );
        let options = ParseOptions::default();
        let json = parse_json(&schema, &json, Root::Datastore, &options);
        let xml = parse_xml(&schema, &xml, Root::Datastore, &options);
        assert_eq!(
            (json.is_ok(), xml.is_ok()),
            (is_accepted, is_accepted),
            "{expression}"
        );
    }
}

/// The models of access rules.
fn schema_with_access_rules() -> Schema {
    let names = ["ietf-netconf-acm", "ietf-yang-types"];
    let modules = names.iter().filter_map(|name| standard::module(name, None));
    let source = SchemaSource {
        modules: modules.map(StandardModule::source).collect(),
        ..SchemaSource::default()
    };
    Schema::compile(&source).unwrap()
}

#[test]
fn rules_for_modules_of_other_anchors_pass_through_both_formats() {
    let schema = schema_with_access_rules();
    for (path, declared) in [
        (
            "/ietf-interfaces:interfaces/interface[name='eth0']/ietf-ip:ipv4",
            r#"xmlns:ietf-interfaces="urn:ietf:params:xml:ns:yang:ietf-interfaces""#,
        ),
        (
            "/net:devices/device[kind='net:core']/name",
            r#"xmlns:net="urn:espalier:module:net""#,
        ),
        // A module of the schema has another one's name as its prefix.
        (
            "/nacm:a/ietf-netconf-acm:b/nacm:c[d='x:y z']",
            r#"xmlns:nacm2="urn:ietf:params:xml"#,
        ),
        ("/", ">/<"),
    ] {
        let json = format!(
            r#"{{"ietf-netconf-acm:nacm":{{"rule-list":[{{"name":"l","rule":[{{"name":"r","path":"{path}","action":"permit"}}]}}]}}}}"#
        );
        let tree = tree_of_json(&schema, &json);
        let xml = xml_of(&schema, &tree);
        assert!(xml.contains(declared), "{xml}");
        let again = tree_of_xml(&schema, &xml);
        assert_eq!(json_of(&schema, &again), json, "{xml}");
    }
}

#[test]
fn a_rule_with_an_unknown_namespace_is_rejected_with_what_to_write() {
    let schema = schema_with_access_rules();
    for namespaces in [
        "",
        r#" xmlns:n="urn:example:net""#,
        r#" xmlns:n="urn:espalier:module:""#,
    ] {
        let xml = format!(
            r#"<nacm xmlns="urn:ietf:params:xml:ns:yang:ietf-netconf-acm"><rule-list><name>l</name><rule><name>r</name><path{namespaces}>/n:devices</path><action>permit</action></rule></rule-list></nacm>"#
        );
        let read = parse_xml(&schema, &xml, Root::Datastore, &ParseOptions::default());
        let message = read.unwrap_err().to_string();
        assert!(message.contains("urn:espalier:module:NAME"), "{message}");
        assert!(message.contains("JSON"), "{message}");
    }
}
