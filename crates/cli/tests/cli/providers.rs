//! Programs behind the model: the examples of the guide, scripts, and programs that hang, die or flood.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::process::{Sandbox, Server};

/// How long a test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(30);

const SOCKET: &str = "espalier.sock";

fn repository(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name)
}

/// A program that is killed on drop.
struct Program(Child);

impl Program {
    /// Starts a Python program in a folder.
    fn python(sandbox: &Sandbox, file: &Path, arguments: &[&str]) -> Self {
        let child = Command::new("python3")
            .arg(file)
            .args(arguments)
            .env("PYTHONPATH", repository("python"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("ESPALIER", env!("CARGO_BIN_EXE_espalier"))
            .current_dir(sandbox.path(""))
            .stdout(Stdio::null())
            .spawn()
            .expect("python3");
        Self(child)
    }

    /// Starts `espalier provide`.
    fn script(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        let server = format!("unix:{SOCKET}");
        let arguments = [&["provide", "--server", &server], arguments].concat();
        Self(sandbox.command(&arguments).spawn().expect("the binary"))
    }

    /// SIGKILL.
    fn kill(mut self) {
        self.0.kill().expect("a living program");
        self.0.wait().expect("an end");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A store with the model of the examples.
fn store() -> Sandbox {
    let sandbox = Sandbox::new();
    let model = repository("examples/providers/acme-firewall.yang");
    let model = std::fs::read_to_string(model).expect("the model");
    sandbox.write("acme-firewall.yang", model);
    sandbox.write("empty.json", "{}");
    let load = ["load", "empty.json", "--yang", "acme-firewall.yang"];
    let store = ["--store", "embedded:store"];
    sandbox.run(&[&load[..], &store].concat()).ok();
    sandbox
}

fn serve(sandbox: &Sandbox) -> Server {
    sandbox.serve(&["--store", "embedded:store", "--unix-socket", SOCKET])
}

/// Waits until these programs are connected.
fn wait_for(server: &Server, names: &[&str]) {
    eventually(&format!("{names:?} connected"), || {
        let answer = server.request("GET", "/espalier/providers", None);
        let answer: Json = serde_json::from_str(&answer.body).expect("JSON");
        let connected = answer["providers"].as_array().expect("a list");
        let connected: Vec<_> = connected.iter().map(|one| one["name"].clone()).collect();
        (connected == names).then_some(())
    });
}

fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(
            started.elapsed() < PATIENCE,
            "not within {PATIENCE:?}: {what}"
        );
        thread::sleep(Duration::from_millis(50));
    }
}

/// Creates a rule of the firewall.
fn create_rule(server: &Server, rule: &Json) -> (u16, Json) {
    let body = json!({"acme-firewall:firewall": {"rule": [rule]}});
    let path = "/restconf/data/acme-firewall:firewall";
    let answer = server.request("PATCH", path, Some(&body.to_string()));
    let body = serde_json::from_str(&answer.body).unwrap_or_default();
    (answer.status, body)
}

fn state(server: &Server, path: &str) -> Option<Json> {
    let answer = server.request("GET", &format!("/restconf/data/{path}"), None);
    match answer.status {
        200 => Some(serde_json::from_str(&answer.body).expect("JSON")),
        404 => None,
        other => panic!("{other}: {}", answer.body),
    }
}

fn invoke(server: &Server, path: &str) -> (u16, Json) {
    let answer = server.request("POST", path, None);
    let body = serde_json::from_str(&answer.body).unwrap_or_default();
    (answer.status, body)
}

/// Starts a program of the examples.
fn example(sandbox: &Sandbox, name: &str, arguments: &[&str]) -> Program {
    let file = repository("examples/providers").join(name);
    let socket = format!("unix:{SOCKET}");
    Program::python(sandbox, &file, &[&[&*socket], arguments].concat())
}

#[test]
fn the_examples_serve_state_write_rules_and_refuse_commits() {
    let sandbox = store();
    let server = serve(&sandbox);
    assert_eq!(state(&server, "acme-firewall:system"), None);
    assert_eq!(
        invoke(&server, "/restconf/operations/acme-firewall:reload").0,
        501
    );
    let _clock = example(&sandbox, "clock.py", &[]);
    let firewall = example(&sandbox, "firewall.py", &["rules.nft"]);
    let _policy = example(&sandbox, "policy.py", &[]);
    wait_for(&server, &["clock", "firewall", "policy"]);
    let system = state(&server, "acme-firewall:system").expect("state");
    let uptime = system["acme-firewall:system"]["uptime"]
        .as_str()
        .expect("an uptime");
    assert!(uptime.parse::<u64>().expect("a number") > 0);
    let rules = || std::fs::read_to_string(sandbox.path("rules.nft")).unwrap_or_default();
    let (status, _) = create_rule(
        &server,
        &json!({"name": "ssh", "port": 22, "action": "accept"}),
    );
    assert_eq!(status, 204);
    eventually("the rule in the file", || {
        rules()
            .contains("tcp dport 22 accept comment \"ssh\"")
            .then_some(())
    });
    let (status, body) = create_rule(&server, &json!({"name": "all", "action": "accept"}));
    let error = &body["ietf-restconf:errors"]["error"][0];
    assert_eq!(
        (status, &error["error-app-tag"]),
        (412, &json!("policy")),
        "{body}"
    );
    assert_eq!(
        error["error-path"],
        "/acme-firewall:firewall/rule[name='all']"
    );
    assert_eq!(
        invoke(&server, "/restconf/operations/acme-firewall:reload"),
        (200, json!({"acme-firewall:output": {"rules": 1}}))
    );
    let loaded = eventually("the pushed version", || {
        state(&server, "acme-firewall:firewall/state")
    });
    assert_eq!(
        loaded,
        json!({"acme-firewall:state": {"loaded-version": "1"}})
    );
    misses_nothing(&sandbox, server, firewall);
}

/// What the program misses while it is away, it gets when it is back; its state ends with its connection.
fn misses_nothing(sandbox: &Sandbox, server: Server, firewall: Program) {
    let rules = || std::fs::read_to_string(sandbox.path("rules.nft")).unwrap_or_default();
    firewall.kill();
    wait_for(&server, &["clock", "policy"]);
    assert_eq!(state(&server, "acme-firewall:firewall/state"), None);
    create_rule(
        &server,
        &json!({"name": "dns", "port": 53, "source": "10.0.0.0/8"}),
    );
    assert!(!rules().contains("dns"));
    let _firewall = example(sandbox, "firewall.py", &["rules.nft"]);
    eventually("the missed rule in the file", || {
        rules().contains("dns").then_some(())
    });
    // The same after the server was killed.
    server.kill();
    let server = serve(sandbox);
    wait_for(&server, &["clock", "firewall", "policy"]);
    create_rule(&server, &json!({"name": "web", "port": 80}));
    eventually("the rule in the file", || {
        rules().contains("web").then_some(())
    });
}

#[test]
fn a_script_answers_reads_operations_and_commits() {
    let sandbox = store();
    let server = serve(&sandbox);
    let uptime = repository("examples/providers/uptime.sh");
    let uptime = uptime.to_str().expect("a path");
    let _uptime = Program::script(
        &sandbox,
        &["--state", "/acme-firewall:system", "--exec", uptime],
    );
    let script = r#"#!/bin/sh
echo "$ESPALIER_KIND $ESPALIER_PATH" >> calls
case $ESPALIER_KIND in
operation) cat > input; echo '{"rules": 7}';;
change) if grep -q forbidden; then echo "that is forbidden" >&2; exit 3; fi;;
update) if grep -q twin; then echo '{"acme-firewall:firewall":{"rule":[{"name":"other"}]}}'; fi;;
done) cat >> commits; echo >> commits;;
esac
"#;
    sandbox.write("script.sh", script);
    let rule = "/acme-firewall:firewall/rule";
    let phases = [
        "--on-change",
        rule,
        "--on-update",
        rule,
        "--on-commit",
        rule,
    ];
    let operation = [
        "--operation",
        "/acme-firewall:reload",
        "--exec",
        "sh",
        "--",
        "script.sh",
    ];
    let _script = Program::script(
        &sandbox,
        &[&["--name", "script"][..], &phases, &operation].concat(),
    );
    wait_for(&server, &["script", "uptime"]);
    let system = state(&server, "acme-firewall:system").expect("state");
    assert!(system["acme-firewall:system"]["now"].is_string());
    let reloaded = invoke(&server, "/restconf/operations/acme-firewall:reload");
    assert_eq!(
        reloaded,
        (200, json!({"acme-firewall:output": {"rules": 7}}))
    );
    let (status, body) = create_rule(&server, &json!({"name": "forbidden"}));
    assert_eq!(status, 412);
    assert!(body.to_string().contains("that is forbidden"), "{body}");
    assert_eq!(create_rule(&server, &json!({"name": "twin"})).0, 204);
    let rules = state(&server, "acme-firewall:firewall/rule").expect("rules");
    assert_eq!(
        rules["acme-firewall:rule"].as_array().map(Vec::len),
        Some(2),
        "{rules}"
    );
    eventually("the commit", || {
        let commits = std::fs::read_to_string(sandbox.path("commits")).ok()?;
        commits.contains("rule[name='other']").then_some(())
    });
}

/// A program with wrong and late answers, which ends in the middle of a commit.
const WRONG: &str = "
import sys, time
from espalier import Provider
p = Provider('wrong')
@p.state('/acme-firewall:system', timeout=0.5)
def system(call):
    return {'acme-firewall:system': {'uptime': 'not a number'}}
@p.state('/acme-firewall:firewall/state', timeout=0.5)
def slow(call):
    time.sleep(3600)
@p.on_change('/acme-firewall:firewall', timeout=1)
def change(commit):
    if any('hang' in one.target for one in commit.changes): time.sleep(3600)
    if any('die' in one.target for one in commit.changes): import os; os._exit(1)
@p.operation('/acme-firewall:reload', timeout=1)
def reload(call):
    time.sleep(3600)
p.run(sys.argv[1])
";

#[test]
fn programs_that_hang_die_or_are_wrong_stop_only_what_needs_them() {
    let sandbox = store();
    let server = serve(&sandbox);
    sandbox.write("wrong.py", WRONG);
    let socket = format!("unix:{SOCKET}");
    let start = || Program::python(&sandbox, &sandbox.path("wrong.py"), &[&socket]);
    let _first = start();
    wait_for(&server, &["wrong"]);
    // Wrong and late state is missing; the rest is there.
    assert_eq!(create_rule(&server, &json!({"name": "ok"})).0, 204);
    assert_eq!(state(&server, "acme-firewall:system"), None);
    assert_eq!(state(&server, "acme-firewall:firewall/state"), None);
    let operational = server.request("GET", "/restconf/ds/ietf-datastores:operational", None);
    assert!(operational.body.contains("ok"), "{}", operational.body);
    // A commit that waits does not stop reads, and fails after its time.
    let app_tag = |body: &Json| body["ietf-restconf:errors"]["error"][0]["error-app-tag"].clone();
    let (hanging, reads) = thread::scope(|scope| {
        let hanging = scope.spawn(|| create_rule(&server, &json!({"name": "hang"})));
        let mut reads = 0;
        while !hanging.is_finished() {
            assert!(state(&server, "acme-firewall:firewall/rule").is_some());
            reads += 1;
        }
        (hanging.join().expect("an answer"), reads)
    });
    assert_eq!(
        (hanging.0, app_tag(&hanging.1)),
        (500, json!("timeout")),
        "{}",
        hanging.1
    );
    assert!(reads > 5, "{reads} reads");
    let late = invoke(&server, "/restconf/operations/acme-firewall:reload");
    assert_eq!((late.0, app_tag(&late.1)), (500, json!("timeout")));
    // A program that dies in a commit has refused it; then it does not take part.
    let dead = create_rule(&server, &json!({"name": "die"}));
    assert_eq!(
        (dead.0, app_tag(&dead.1)),
        (500, json!("provider-unavailable")),
        "{}",
        dead.1
    );
    wait_for(&server, &[]);
    assert_eq!(create_rule(&server, &json!({"name": "die"})).0, 204);
    let rules = state(&server, "acme-firewall:firewall/rule").expect("rules");
    assert_eq!(
        rules["acme-firewall:rule"].as_array().map(Vec::len),
        Some(2),
        "{rules}"
    );
    // A second program of the same name replaces the first.
    let _second = start();
    wait_for(&server, &["wrong"]);
    let _third = start();
    thread::sleep(Duration::from_millis(500));
    wait_for(&server, &["wrong"]);
}

/// Every commit is reported at least once and in order, whatever is killed.
#[test]
fn no_commit_is_lost_when_programs_or_the_server_are_killed() {
    let sandbox = store();
    sandbox.write(
        "log.py",
        "
import os, sys
from espalier import Provider
p = Provider('log')
if os.path.exists('version'): p.resume_from(int(open('version').read()))
else: p.resume_from(0)
@p.on_commit('/acme-firewall:firewall')
def done(commit):
    with open('log', 'a') as log:
        for one in commit.changes:
            if one.operation == 'create' and one.target.endswith(']'): log.write(one.target + '\\n')
    with open('version.new', 'w') as new: new.write(str(commit.version))
    os.replace('version.new', 'version')
p.run(sys.argv[1])
",
    );
    let socket = format!("unix:{SOCKET}");
    let start = || Program::python(&sandbox, &sandbox.path("log.py"), &[&socket]);
    let mut server = serve(&sandbox);
    let mut program = start();
    let mut acknowledged = Vec::new();
    for round in 0..6 {
        for number in 0..20 {
            let name = format!("r{round}-{number}");
            if create_rule(&server, &json!({"name": name})).0 == 204 {
                acknowledged.push(name);
            }
            if number == 10 {
                match round % 2 {
                    0 => {
                        program.kill();
                        program = start();
                    }
                    _ => {
                        server.kill();
                        server = serve(&sandbox);
                    }
                }
            }
        }
    }
    assert_eq!(acknowledged.len(), 120);
    let seen = eventually("the last commit", || {
        let log = std::fs::read_to_string(sandbox.path("log")).ok()?;
        log.contains("r5-19").then_some(log)
    });
    let mut seen: Vec<&str> = seen
        .lines()
        .map(|line| {
            line.rsplit_once("name='")
                .expect("a rule")
                .1
                .trim_end_matches("']")
        })
        .collect();
    let mut known = std::collections::BTreeSet::new();
    seen.retain(|name| known.insert(*name));
    assert_eq!(seen, acknowledged);
    drop(program);
}

#[test]
fn only_users_without_restrictions_connect_and_messages_are_checked() {
    let sandbox = store();
    let server = serve(&sandbox);
    let connect =
        |body: &Json| server.request_json("POST", "/espalier/providers", &body.to_string());
    for (wrong, status) in [
        (json!({"name": ""}), 400),
        (
            json!({"name": "x", "state": [{"path": "/acme-firewall:none"}]}),
            400,
        ),
        (
            json!({"name": "x", "operations": [{"path": "/acme-firewall:firewall"}]}),
            400,
        ),
        (
            json!({"name": "x", "commits": [{"phases": ["done"], "since": 99}]}),
            400,
        ),
        (
            json!({"name": "x", "commits": [{"phases": ["never"]}]}),
            400,
        ),
        (
            json!({"name": "x", "state": [{"path": "/acme-firewall:system", "timeout": -1}]}),
            400,
        ),
        (json!({"name": "x", "unknown": 1}), 400),
    ] {
        assert_eq!(connect(&wrong).status, status, "{wrong}");
    }
    let messages = json!({"connection": "0", "messages": [{"call": 1}]}).to_string();
    let answer = server.request_json("POST", "/espalier/providers/messages", &messages);
    assert_eq!(answer.status, 404, "{}", answer.body);
    let none = server.request("GET", "/espalier/providers", None);
    assert_eq!(none.body, r#"{"providers":[]}"#);
}

const OLD: &str = "module box { yang-version 1.1; namespace urn:box; prefix b; revision 2025-01-01;
    list item { key name; leaf name { type string; } leaf grams { type uint32; } }
    notification full { leaf name { type string; } } }";

/// Kilograms in place of grams, and a mandatory leaf.
const NEW: &str = "module box { yang-version 1.1; namespace urn:box; prefix b; revision 2026-01-01;
    list item { key name; leaf name { type string; } leaf weight { type uint32; units kg; }
      leaf checked { type boolean; mandatory true; } }
    notification full { leaf name { type string; } } }";

/// A program that converts the data of the old revision as its argument wants, and sends a notification.
const UPGRADER: &str = "
import sys, time
from espalier import Provider, Refused
p = Provider('upgrader')
@p.on_upgrade('box', timeout=2)
def upgrade(one):
    assert (one.old_revision, one.new_revision) == ('2025-01-01', '2026-01-01')
    if sys.argv[2] == 'refuse': raise Refused('not today', app_tag='mine')
    if sys.argv[2] == 'hang': time.sleep(3600)
    items = one.data['box:item']
    for item in items:
        item['weight'] = item.pop('grams') // 1000
        if sys.argv[2] != 'wrong': item['checked'] = True
    return {'box:item': items}
@p.on_commit('/box:item')
def done(commit): p.notify({'box:full': {'name': str(commit.version)}})
p.run(sys.argv[1])
";

/// A store with the old revision.
fn store_of_boxes() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("old/box.yang", OLD);
    sandbox.write("new/box.yang", NEW);
    sandbox.write(
        "data.json",
        r#"{"box:item":[{"name":"a","grams":4000},{"name":"b","grams":500}]}"#,
    );
    sandbox.write("upgrader.py", UPGRADER);
    let load = [
        "load",
        "data.json",
        "--yang",
        "old",
        "--store",
        "embedded:store",
    ];
    sandbox.run(&load).ok();
    sandbox
}

#[test]
fn a_program_converts_data_and_sends_notifications() {
    let sandbox = store_of_boxes();
    let server = serve(&sandbox);
    let socket = format!("unix:{SOCKET}");
    let upgrade = |more: &[&str]| {
        let words = ["upgrade", "--yang", "new", "--server", &server.url];
        sandbox.run(&[&words[..], more].concat())
    };
    let program = |manner: &str| {
        let program = Program::python(&sandbox, &sandbox.path("upgrader.py"), &[&socket, manner]);
        wait_for(&server, &["upgrader"]);
        program
    };
    let items = || {
        let items = state(&server, "box:item").expect("items");
        items["box:item"].clone()
    };
    let before = items();
    for (manner, message) in [
        ("refuse", "not today"),
        ("hang", "no answer"),
        ("wrong", "checked"),
    ] {
        let running = program(manner);
        for more in [&["--dry-run"][..], &[]] {
            let refused = upgrade(more).failed(1);
            assert!(refused.contains(message), "{manner} {more:?}: {refused}");
        }
        assert_eq!(items(), before, "{manner}");
        running.kill();
        wait_for(&server, &[]);
    }
    // Without the program the data does not fit.
    upgrade(&[]).failed(1);
    let _running = program("convert");
    upgrade(&["--dry-run"]).ok();
    assert_eq!(items(), before);
    upgrade(&[]).ok();
    let converted = json!([{"name": "a", "weight": 4, "checked": true}, {"name": "b", "weight": 0, "checked": true}]);
    assert_eq!(items(), converted);
    let body = r#"{"box:item":[{"name":"c","checked":false}]}"#;
    let added = server.request("POST", "/restconf/data", Some(body));
    assert_eq!(added.status, 201, "{}", added.body);
    eventually("the notification", || {
        let words = [
            "notifications",
            "--since",
            "2020-01-01T00:00:00Z",
            "--json",
            "--server",
            &server.url,
        ];
        let events = sandbox.run(&words).ok();
        events.contains("box:full").then_some(())
    });
}

/// Regressions: a faulty description ended the program of the same name; edits of programs and of `edit-config` could
/// write state into running.
#[test]
fn a_faulty_description_ends_no_program_and_edits_are_configuration() {
    let sandbox = store();
    let server = serve(&sandbox);
    sandbox.write(
        "editor.py",
        "
import sys
from espalier import Provider
p = Provider('editor')
@p.on_update('/acme-firewall:firewall/rule')
def update(commit): return {'acme-firewall:firewall': {'state': {'loaded-version': '7'}}}
p.run(sys.argv[1])
",
    );
    let socket = format!("unix:{SOCKET}");
    let _editor = Program::python(&sandbox, &sandbox.path("editor.py"), &[&socket]);
    wait_for(&server, &["editor"]);
    let faulty = r#"{"name":"editor","state":[{"path":"/acme-firewall:none"}]}"#;
    let answer = server.request_json("POST", "/espalier/providers", faulty);
    assert_eq!(answer.status, 400, "{}", answer.body);
    wait_for(&server, &["editor"]);
    let many = json!({"name": "many", "commits": vec![json!({"phases": ["done"]}); 17]});
    let answer = server.request_json("POST", "/espalier/providers", &many.to_string());
    assert_eq!(answer.status, 400, "{}", answer.body);
    let (status, body) = create_rule(&server, &json!({"name": "a"}));
    assert_ne!(status, 204, "{body}");
    let config = json!({"acme-firewall:firewall": {"state": {"loaded-version": "7"}}});
    let input = json!({"ietf-netconf:input": {"target": {"running": [null]}, "config": config}});
    let path = "/restconf/operations/ietf-netconf:edit-config";
    let answer = server.request("POST", path, Some(&input.to_string()));
    assert_eq!(answer.status, 400, "{}", answer.body);
}

/// Regression: the program of a deleted user stayed connected, and got the changes of commits.
#[test]
fn a_program_is_disconnected_when_its_user_has_no_right_to_it() {
    let sandbox = store();
    let local = ["--store", "embedded:store"];
    let add = [&["user", "add", "eve", "--admin"], &local[..]].concat();
    sandbox.run_with(&add, b"correct horse", &[]).ok();
    let create = [
        &["token", "create", "eve", "--name", "t", "--json"],
        &local[..],
    ]
    .concat();
    let token = sandbox.run(&create).json()["token"].clone();
    let server = serve(&sandbox);
    let variables = [("ESPALIER_TOKEN", token.as_str().expect("a token"))];
    sandbox.write("idle.py", IDLE);
    let program = Command::new("python3")
        .args(["idle.py", &server.url])
        .env("PYTHONPATH", repository("python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .envs(variables)
        .current_dir(sandbox.path(""))
        .spawn();
    let _program = Program(program.expect("python3"));
    let socket = format!("unix:{SOCKET}");
    let listed = || {
        let words = ["get", "/", "--server", &socket];
        sandbox.run(&words);
        let connected = std::fs::read_to_string(sandbox.path("connected")).unwrap_or_default();
        connected.trim().to_owned()
    };
    eventually("connected", || (listed() == "yes").then_some(()));
    let delete = ["user", "delete", "eve", "--server", &socket];
    let deleted = sandbox.run(&delete);
    if deleted.status != 0 {
        sandbox
            .run(&[&["user", "delete", "eve"], &local[..]].concat())
            .ok();
    }
    eventually("disconnected", || (listed() == "no").then_some(()));
}

/// A program that writes into a file whether it is connected.
const IDLE: &str = "
import sys, threading, time
from espalier import Provider
p = Provider('idle')
@p.on_commit('/acme-firewall:firewall')
def done(commit): pass
def watch():
    while True:
        open('connected', 'w').write('yes' if p.wait_until_connected(0.05) else 'no')
        time.sleep(0.1)
threading.Thread(target=watch, daemon=True).start()
try: p.run(sys.argv[1])
except Exception: time.sleep(30)
";
