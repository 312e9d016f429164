//! Round trips of every built-in type and of unusual keys, in both formats.

use crate::support::{Server, check_json, encode};

const TYPES: &str = r#"{"garden:types":{
    "binary":"AP+A","bits":"a c","boolean":true,"decimal64":"-12.5","empty":[null],
    "enumeration":"two words","identityref":"garden:pear",
    "instance-identifier":"/garden:keyed[k='x y']","int8":-128,"int16":-32768,
    "int32":-2147483648,"int64":"-9223372036854775808","uint8":255,"uint16":65535,
    "uint32":4294967295,"uint64":"18446744073709551615","leafref":"é","string":"<&>\"'\t\n]]> 🌱",
    "union":"text","anydata":{"a":[1,2,{"b":null}]}}}"#;

#[test]
fn every_type_round_trips() {
    let server = Server::start();
    server.put("/garden:types", TYPES);
    check_json(&server.get("/garden:types"), TYPES);
    let xml = server.get_xml("/garden:types").body;
    let document: serde_json::Value = serde_json::from_str(TYPES).unwrap();
    for (name, value) in document["garden:types"].as_object().unwrap() {
        let path = format!("/garden:types/{name}");
        let mut alone = serde_json::Map::new();
        alone.insert(format!("garden:{name}"), value.clone());
        let alone = serde_json::Value::from(alone).to_string();
        check_json(&server.get(&path), &alone);
        let as_xml = server.get_xml(&path).body;
        assert_eq!(server.json("DELETE", &path, "").status, 204, "{name}");
        let put = server.xml("PUT", &path, &as_xml);
        assert_eq!(put.status, 201, "{as_xml}: {put:?}");
        if name != "anydata" {
            check_json(&server.get(&path), &alone);
        }
    }
    let server = Server::start();
    let put = server.xml("PUT", "/garden:types", &xml);
    assert_eq!(put.status, 201, "{xml}: {put:?}");
    assert_eq!(server.get_xml("/garden:types").body, xml);
}

fn hostile() -> Vec<String> {
    let mut keys: Vec<String> = [
        "", "/", "a/b", ",", "a,b", "%", "%2F", "'", "\"", "'\"", " ", " a ",
    ]
    .map(str::to_owned)
    .to_vec();
    keys.extend(
        [
            "=", "?", "#", "&", ";", "..", ".", "+", "é", "🌱🌱", "[x]", "a:b",
        ]
        .map(str::to_owned),
    );
    keys.push("k".repeat(4096));
    keys.push("🌱".repeat(1024));
    keys.push("<a>&amp;".to_owned());
    keys
}

#[test]
fn unusual_keys_round_trip() {
    let server = Server::start();
    for key in hostile() {
        let path = format!("/garden:keyed={}", encode(&key));
        let document = serde_json::json!({"garden:keyed": [{"k": key, "v": "1"}]}).to_string();
        let put = server.json("PUT", &path, &document);
        assert_eq!(put.status, 201, "{key:?}: {put:?}");
        check_json(&server.get(&path), &document);
        let xml = server.get_xml(&path).body;
        assert_eq!(server.json("DELETE", &path, "").status, 204, "{key:?}");
        let post = server.xml("POST", "", &xml);
        assert_eq!(post.status, 201, "{key:?}: {post:?}");
        let location = post.header("location").to_owned();
        check_json(&server.send("GET", &location, &[], ""), &document);
    }
    let all = server.get("/garden:keyed");
    let all: serde_json::Value = serde_json::from_str(&all.body).unwrap();
    assert_eq!(
        all["garden:keyed"].as_array().unwrap().len(),
        hostile().len()
    );
}

/// Characters that need no encoding may be sent as they are.
#[test]
fn keys_need_only_the_encoding_that_the_grammar_requires() {
    let server = Server::start();
    server.put("/garden:keyed=a:b", r#"{"garden:keyed":[{"k":"a:b"}]}"#);
    for path in [
        "/garden:keyed=a:b",
        "/garden:keyed=a%3Ab",
        "/garden%3Akeyed=a%3ab",
    ] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
}
