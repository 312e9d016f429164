//! `espalier netconf TARGET shell` and `diff`.

use crate::netconf_client::{Served, title};

#[test]
fn scripts_run_in_one_session_and_end_at_the_first_failure() {
    let served = Served::new();
    served.sandbox.write("edit.xml", title("script"));
    let script = "# a comment\n\nlock candidate\nedit-config 'edit.xml' --target candidate\n\
                  validate\ncommit\nget-config --output json --xpath /m:c/m:title\nexit\nnothing\n";
    let printed = served.netconf_with(&["shell"], script).ok();
    let data: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(data["m:c"]["title"], "script");
    let error = served.netconf_with(&["shell"], "hello\nunlock running\nhello\n").failed(1);
    assert!(error.contains("line 2"), "{error}");
    let outcome = served.netconf_with(&["shell"], "hello\nunlock running\nhello\n");
    assert_eq!(outcome.stdout.matches("base 1.1").count(), 1);
    let wrong = served.netconf_with(&["shell"], "edit-config 'open").failed(2);
    assert!(wrong.contains("not closed"), "{wrong}");
    served.netconf_with(&["shell"], "nothing").failed(2);
    let help = served.netconf_with(&["shell"], "help\n").ok();
    assert!(help.contains("get-config") && help.contains("exit"), "{help}");
    let both = served.netconf(&["shell", "-c", "lock", "-c", "unlock"]).ok();
    assert_eq!(both, "");
}

/// A lock ends with its session.
#[test]
fn locks_of_two_sessions_conflict() {
    let served = Served::new();
    let held = served.netconf_with(
        &["shell", "--json"],
        "lock running\nhello\n",
    );
    assert_eq!(held.stdout.lines().count(), 2, "{held:?}");
    served.netconf(&["lock", "running"]).ok();
    let mut holder = served.sandbox.command(&["netconf", "unix:netconf.sock", "shell", "--json"]);
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
    assert!(error.contains("lock-denied") && error.contains("session-id"), "{error}");
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
    let diff = |arguments: &[&str]| served.sandbox.run(&[&["netconf", "diff"], arguments].concat());
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
        assert!(line["operation"].is_string() && line["target"].is_string(), "{line}");
    }
    let error = diff(&["other.xml", "other.xml"]).failed(2);
    assert!(error.contains("--yang"), "{error}");
    assert_eq!(diff(&["other.xml", "other.xml", "--yang", "m.yang"]).ok(), "");
    // The differences are those that an edit makes.
    served.netconf(&["edit-config", "other.xml", "--default-operation", "replace"]).failed(1);
    served.sandbox.write("other.xml", other.replace("<x xmlns='urn:none'/>", ""));
    served.netconf(&["copy-config", "--file", "other.xml", "running"]).ok();
    assert_eq!(diff(&[target, "other.xml"]).ok(), "");
}
