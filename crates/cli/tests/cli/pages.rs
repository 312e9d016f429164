//! Pages of lists on the command line, of a store and through a server.

use serde_json::json;

use crate::process::Sandbox;

const MODEL: &str = "module m { yang-version 1.1; namespace urn:m; prefix m; container c {
  list e { key k; leaf k { type uint8; } leaf v { type string; } leaf-list w { type uint8; } } } }";

const PATH: &str = "/m:c/e";

fn check(sandbox: &Sandbox, access: &[&str]) {
    let get = |options: &[&str]| sandbox.run(&[&["get", PATH], options, access].concat());
    let keys = |options: &[&str]| {
        let found = get(options).json();
        let entries = found["m:e"].as_array().expect("entries").clone();
        let keys = entries.iter().map(|entry| entry["k"].as_u64());
        keys.map(|key| key.expect("a key")).collect::<Vec<_>>()
    };
    assert_eq!(keys(&["--limit", "2"]), [1, 2]);
    assert_eq!(keys(&["--offset", "2", "--direction", "backwards"]), [2, 1]);
    assert_eq!(keys(&["--where", "v = 'a' and k > 1"]), [3]);
    assert_eq!(keys(&["--sort-by", "v"]), [1, 3, 2, 4]);
    let first = get(&["--limit", "3"]).json();
    let next = first["m:e"][0]["@"]["ietf-list-pagination:next"].as_str();
    let next = next.expect("a cursor");
    assert_eq!(keys(&["--limit", "3", "--cursor", next]), [4]);
    let xml = get(&["--limit", "2", "--format", "xml"]).ok();
    assert!(
        xml.starts_with("<xml-list>") && xml.matches("<k>").count() == 2,
        "{xml}"
    );
    let cut = get(&["--sublist-limit", "1", "--limit", "1"]).json();
    assert_eq!(cut["m:e"][0]["w"], json!([7]));
    let wrong = get(&["--cursor", "x"]).failed(1);
    assert!(
        wrong.contains("the cursor is none of this query"),
        "{wrong}"
    );
    let beyond = get(&["--offset", "5"]).failed(1);
    assert!(beyond.contains("the offset is 5"), "{beyond}");
}

#[test]
fn pages_of_a_store_and_through_a_server() {
    let sandbox = Sandbox::new();
    sandbox.write("m.yang", MODEL);
    let entries =
        json!([{"k": 1, "v": "a", "w": [7, 8]}, {"k": 2, "v": "b"}, {"k": 3, "v": "a"}, {"k": 4}]);
    sandbox.write("data.json", json!({"m:c": {"e": entries}}).to_string());
    let store = ["--store", "embedded:store"];
    let loaded = ["load", "data.json", "--yang", "m.yang"];
    sandbox.run(&[&loaded[..], &store].concat()).ok();
    check(&sandbox, &store);
    let server = sandbox.serve(&store);
    check(&sandbox, &["--server", &server.url]);
}
