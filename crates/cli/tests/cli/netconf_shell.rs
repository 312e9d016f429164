//! `espalier netconf TARGET shell` and `diff`.

use std::collections::BTreeSet;

use espalier_testkit::seed;
use rand::Rng;
use rand::rngs::StdRng;
use serde_json::{Value, json};

use crate::netconf_client::{Served, title};
use crate::process::Sandbox;

#[test]
fn scripts_run_in_one_session_and_end_at_the_first_failure() {
    let served = Served::new();
    served.sandbox.write("edit.xml", title("script"));
    let script = "# a comment\n\nlock candidate\nedit-config 'edit.xml' --target candidate\n\
                  validate\ncommit\nget-config --output json --xpath /m:c/m:title\nexit\nnothing\n";
    let printed = served.netconf_with(&["shell"], script).ok();
    let data: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(data["m:c"]["title"], "script");
    let error = served
        .netconf_with(&["shell"], "hello\nunlock running\nhello\n")
        .failed(1);
    assert!(error.contains("line 2"), "{error}");
    let outcome = served.netconf_with(&["shell"], "hello\nunlock running\nhello\n");
    assert_eq!(outcome.stdout.matches("base 1.1").count(), 1);
    let wrong = served
        .netconf_with(&["shell"], "edit-config 'open")
        .failed(2);
    assert!(wrong.contains("not closed"), "{wrong}");
    served.netconf_with(&["shell"], "nothing").failed(2);
    let help = served.netconf_with(&["shell"], "help\n").ok();
    assert!(
        help.contains("get-config") && help.contains("exit"),
        "{help}"
    );
    let both = served
        .netconf(&["shell", "-c", "lock", "-c", "unlock"])
        .ok();
    assert_eq!(both, "");
}

/// A lock ends with its session.
#[test]
fn locks_of_two_sessions_conflict() {
    let served = Served::new();
    let held = served.netconf_with(&["shell", "--json"], "lock running\nhello\n");
    assert_eq!(held.stdout.lines().count(), 2, "{held:?}");
    served.netconf(&["lock", "running"]).ok();
    let mut holder = served
        .sandbox
        .command(&["netconf", "unix:netconf.sock", "shell", "--json"]);
    let mut holder = holder
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the binary");
    let mut input = holder.stdin.take().expect("input");
    std::io::Write::write_all(&mut input, b"lock running\n").expect("written");
    let mut line = String::new();
    let output = holder.stdout.as_mut().expect("output");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).expect("a line");
    assert!(line.contains("ok"), "{line}");
    let error = served.netconf(&["lock", "running"]).failed(1);
    assert!(
        error.contains("lock-denied") && error.contains("session-id"),
        "{error}"
    );
    drop(input);
    assert!(holder.wait().expect("an end").success());
    served.netconf(&["lock", "running"]).ok();
}

#[test]
fn differences_of_servers_and_files_by_node() {
    let served = Served::new();
    let other = "<data xmlns='urn:ietf:params:xml:ns:netconf:base:1.0'><c xmlns='urn:m'><title>other</title>\
                 <e><k>c</k></e><e><k>a</k><v>9</v></e><e><k>d</k></e></c><x xmlns='urn:none'/></data>";
    served.sandbox.write("other.xml", other);
    let diff = |arguments: &[&str]| {
        served
            .sandbox
            .run(&[&["netconf", "diff"], arguments].concat())
    };
    let target = "unix:netconf.sock";
    let outcome = diff(&[target, "other.xml"]);
    assert!(outcome.stderr.contains("urn:none"), "{outcome:?}");
    let expected = "~ /m:c/title: \"first\" -> \"other\"\n- /m:c/e[k='b']\n- /m:c/e[k='b']/v = 2\n\
                    ~ /m:c/e[k='c'] moved first\n~ /m:c/e[k='a']/v: 1 -> 9\n+ /m:c/e[k='d'] after [k='a']\n";
    assert_eq!(outcome.ok(), expected);
    assert_eq!(diff(&[target, target]).ok(), "");
    let json = diff(&["other.xml", target, "--json"]).ok();
    assert!(json.lines().count() >= 5, "{json}");
    for line in json.lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert!(
            line["operation"].is_string() && line["target"].is_string(),
            "{line}"
        );
    }
    let error = diff(&["other.xml", "other.xml"]).failed(2);
    assert!(error.contains("--yang"), "{error}");
    assert_eq!(
        diff(&["other.xml", "other.xml", "--yang", "m.yang"]).ok(),
        ""
    );
    // The differences are those that an edit makes.
    served
        .netconf(&["edit-config", "other.xml", "--default-operation", "replace"])
        .failed(1);
    served
        .sandbox
        .write("other.xml", other.replace("<x xmlns='urn:none'/>", ""));
    served
        .netconf(&["copy-config", "--file", "other.xml", "running"])
        .ok();
    assert_eq!(diff(&[target, "other.xml"]).ok(), "");
}

const SHAPES: &str = "module s {
  yang-version 1.1; namespace 'urn:s'; prefix s;
  container c {
    leaf a { type string; }
    container p { presence 'p'; leaf b { type uint8; } }
    list e { key 'k l'; leaf k { type uint8; } leaf l { type string; } leaf v { type uint8; }
      list f { key k; ordered-by user; leaf k { type uint8; } leaf v { type empty; } } }
    leaf-list t { type uint8; }
    leaf-list u { type uint8; ordered-by user; }
  }
}";

/// Random data of [`SHAPES`].
fn shapes(random: &mut StdRng) -> Value {
    let mut numbers = |count: u8, max: u8| -> Vec<u8> {
        let mut all: Vec<u8> = (0..count).map(|_| random.random_range(0..max)).collect();
        let mut seen = BTreeSet::new();
        all.retain(|number| seen.insert(*number));
        all
    };
    let mut inner = || -> Vec<Value> {
        let entries = numbers(4, 5).into_iter();
        entries.map(|k| json!({"k": k})).collect()
    };
    let (first, second) = (inner(), inner());
    let mut entries: Vec<Value> = numbers(5, 6)
        .into_iter()
        .map(|k| json!({"k": k, "l": "x", "f": if k % 2 == 0 { &first } else { &second }}))
        .collect();
    for (entry, v) in entries.iter_mut().zip(numbers(5, 9)) {
        entry["v"] = v.into();
    }
    let mut all = json!({"a": "x", "e": entries, "t": numbers(4, 6), "u": numbers(4, 6)});
    if numbers(1, 2) == [0] {
        all["p"] = json!({"b": numbers(1, 3)[0]});
    }
    json!({"s:c": all})
}

/// The differences without moves: which entries are moved is free, as long as the order is right.
fn without_moves(lines: &str) -> BTreeSet<String> {
    let lines = lines.lines().filter(|line| !line.contains(" moved "));
    let places = [" first", " after "];
    lines
        .map(|line| {
            let end = places.iter().filter_map(|place| line.find(place)).min();
            line[..end.unwrap_or(line.len())].to_owned()
        })
        .collect()
}

/// `netconf diff` finds what `diff` finds between two versions of a store.
#[test]
fn differences_of_files_are_those_of_versions() {
    let sandbox = Sandbox::new();
    sandbox.write("s.yang", SHAPES);
    let store = ["--store", "embedded:store"];
    seed::run("differences_of_files_are_those_of_versions", |random| {
        for version in 1..12_u32 {
            sandbox.write("new.json", shapes(random).to_string());
            let load = ["load", "--replace", "new.json", "--yang", "s.yang"];
            sandbox.run(&[&load, &store[..]].concat()).ok();
            let file = format!("{version}.xml");
            let export = ["export", "--format", "xml", "-o", &file];
            sandbox.run(&[&export, &store[..]].concat()).ok();
            if version == 1 {
                continue;
            }
            let (old, new) = ((version - 1).to_string(), version.to_string());
            let expected = sandbox
                .run(&[&["diff", &*old, &*new], &store[..]].concat())
                .ok();
            let old = format!("{old}.xml");
            let found = ["netconf", "diff", &*old, &*file, "--yang", "s.yang"];
            let found = sandbox.run(&found).ok();
            assert_eq!(
                without_moves(&found),
                without_moves(&expected),
                "{old} {file}"
            );
            // An equal number of moves or fewer gives the same order.
            let moves = |lines: &str| lines.matches(" moved ").count();
            assert!(moves(&found) <= moves(&expected), "{found}\n{expected}");
        }
    });
}
