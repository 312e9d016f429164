//! The same requests to Espalier and to `netconfd` of yuma123. Where the replies differ, the section of the RFC that
//! decides is named.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use crate::process::Sandbox;
use crate::yuma::{Netconfd, with_netconfd};
use crate::{CLIENT_MAX, create_store};

const BASE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";
const END: &str = "]]>]]>";

const MODEL: &str = "module peer {
  namespace 'urn:peer'; prefix p;
  revision 2026-11-01 { description 'The model of both servers.'; }
  container top {
    leaf note { type string { length '1..8'; } }
    leaf size { type uint8; default 5; }
    leaf odd { type uint8; must '. mod 2 = 1'; }
    list entry { key 'name'; leaf name { type string; } leaf value { type int32; } }
    leaf-list tag { type string; ordered-by user; }
    leaf chosen { type leafref { path '/p:top/p:entry/p:name'; } }
    container state { config false; leaf up { type boolean; } }
  }
}";

/// A request, and the replies.
struct Case {
    request: String,
    ours: &'static str,
    /// The reply of netconfd, if it is another one. The section that decides is at the case.
    theirs: Option<&'static str>,
}

fn same(request: impl Into<String>, reply: &'static str) -> Case {
    Case {
        request: request.into(),
        ours: reply,
        theirs: None,
    }
}

fn differ(
    request: impl Into<String>,
    ours: &'static str,
    theirs: &'static str,
    _section: &'static str,
) -> Case {
    Case {
        theirs: Some(theirs),
        ..same(request, ours)
    }
}

fn edit_with(parameters: &str, config: &str) -> String {
    format!(
        "<edit-config><target><candidate/></target>{parameters}<config>{config}</config></edit-config>"
    )
}

fn edit(content: &str) -> String {
    edit_with("", &top("", content))
}

fn top(attributes: &str, content: &str) -> String {
    format!("<top xmlns=\"urn:peer\" xmlns:nc=\"{BASE}\"{attributes}>{content}</top>")
}

fn filtered(filter: &str) -> String {
    format!("<get-config><source><running/></source>{filter}</get-config>")
}

fn subtree(content: &str) -> String {
    filtered(&format!(
        "<filter><top xmlns=\"urn:peer\">{content}</top></filter>"
    ))
}

fn candidate() -> String {
    subtree("").replace("running", "candidate")
}

fn schema(content: &str) -> String {
    let namespace = "urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring";
    format!("<get-schema xmlns=\"{namespace}\">{content}</get-schema>")
}

fn subscribe(content: &str) -> String {
    let namespace = "urn:ietf:params:xml:ns:netconf:notification:1.0";
    format!("<create-subscription xmlns=\"{namespace}\">{content}</create-subscription>")
}

fn lock(operation: &str) -> String {
    format!("<{operation}><target><candidate/></target></{operation}>")
}

const COMMIT: &str = "<commit/>";
const DISCARD: &str = "<discard-changes/>";
const X: &str = "<top><entry><name>x</name><value>1</value></entry></top>";

fn edits() -> Vec<Case> {
    vec![
        same(
            edit("<note>a</note><entry><name>x</name><value>1</value></entry>"),
            "ok",
        ),
        same(COMMIT, "ok"),
        same(
            subtree(""),
            "<top><note>a</note><entry><name>x</name><value>1</value></entry></top>",
        ),
        same(
            edit("<entry nc:operation=\"create\"><name>x</name></entry>"),
            "data-exists",
        ),
        same(
            edit("<entry nc:operation=\"delete\"><name>z</name></entry>"),
            "data-missing",
        ),
        differ(
            edit("<entry nc:operation=\"remove\"><name>z</name></entry>"),
            "ok",
            "unknown-element",
            "RFC 6241 §7.2: “remove” of what does not exist is ignored",
        ),
        same(edit("<what>1</what>"), "unknown-element"),
        same(
            edit_with("", "<other xmlns=\"urn:none\"/>"),
            "unknown-namespace",
        ),
    ]
}

fn values() -> Vec<Case> {
    vec![
        same(edit("<size>300</size>"), "invalid-value"),
        same(edit("<note>123456789</note>"), "invalid-value"),
        same(edit("<entry><value>1</value></entry>"), "missing-element"),
        differ(
            edit("<state><up>true</up></state>"),
            "unknown-element",
            "access-denied",
            "RFC 7950 §8.3.1: state data in a configuration",
        ),
        differ(
            edit("<note>a</note><note>b</note>"),
            "bad-element",
            "ok",
            "RFC 7950 §7.6: a leaf has at most one instance",
        ),
        differ(
            edit("<note operation=\"delete\"/>"),
            "unknown-attribute invalid-value",
            "ok",
            "RFC 6241 §7.2: the attribute is in the namespace of NETCONF; netconfd ignores others",
        ),
        same(
            edit("<note nc:operation=\"drop\"/>"),
            "bad-attribute invalid-value",
        ),
        same(edit("<odd>2</odd>"), "ok"),
        differ(
            "<validate><source><candidate/></source></validate>",
            "operation-failed",
            "ok",
            "RFC 7950 §8.3.3, §15.5: “must” is violated",
        ),
        differ(COMMIT, "operation-failed", "ok", "the same"),
        same(DISCARD, "ok"),
    ]
}

fn default_operations() -> Vec<Case> {
    vec![
        differ(
            edit_with(
                "<default-operation>none</default-operation>",
                &top("", "<entry><name>q</name><value>1</value></entry>"),
            ),
            "data-missing",
            "ok",
            "RFC 6241 §7.2: what does not exist, with “none”, is data-missing",
        ),
        same(DISCARD, "ok"),
        same(
            edit_with(
                "",
                &top(
                    " nc:operation=\"replace\"",
                    "<entry><name>y</name></entry><tag>a</tag><tag>b</tag>",
                ),
            ),
            "ok",
        ),
        same(
            edit("<tag xmlns:yang=\"urn:ietf:params:xml:ns:yang:1\" yang:insert=\"first\">c</tag>"),
            "ok",
        ),
        same(
            candidate(),
            "<top><entry><name>y</name></entry><tag>c</tag><tag>a</tag><tag>b</tag></top>",
        ),
        differ(
            edit(
                "<entry nc:operation=\"delete\"><name>y</name></entry>\
                 <entry nc:operation=\"create\"><name>y</name></entry>",
            ),
            "ok",
            "data-exists",
            "RFC 6241 §7.2: the operations have an order; netconfd sees the state before all of them",
        ),
        same(DISCARD, "ok"),
    ]
}

fn parameters() -> Vec<Case> {
    vec![
        differ(
            "<edit-config><config/></edit-config>",
            "missing-element",
            "data-missing",
            "RFC 6241 appendix A: a missing parameter is missing-element",
        ),
        differ(
            "<edit-config><target><running/><candidate/></target><config/></edit-config>",
            "bad-element",
            "unknown-element",
            "RFC 7950 §8.3.1: two cases of one choice",
        ),
        same(filtered("<what/>"), "unknown-element"),
        differ(
            "<get-config/>",
            "missing-element",
            "data-missing",
            "RFC 6241 appendix A: a missing parameter is missing-element",
        ),
        same("<what/>", "unknown-element"),
        differ(
            "<what xmlns=\"urn:none\"/>",
            "operation-not-supported",
            "unknown-namespace",
            "RFC 6241 appendix A has both tags",
        ),
        same(lock("lock"), "ok"),
        same(lock("lock"), "lock-denied"),
        same(lock("unlock"), "ok"),
        same(lock("unlock"), "operation-failed"),
        same(
            "<kill-session><session-id>4294967295</session-id></kill-session>",
            "invalid-value",
        ),
        same(
            "<kill-session><session-id>0</session-id></kill-session>",
            "invalid-value",
        ),
        differ(
            "<delete-config><target><running/></target></delete-config>",
            "invalid-value",
            "unknown-element",
            "RFC 6241 §7.4: running cannot be deleted; peers of both have invalid-value",
        ),
        differ(
            "<copy-config><target><candidate/></target><source><candidate/></source></copy-config>",
            "invalid-value",
            "operation-not-supported",
            "RFC 6241 §7.3: the same datastore is invalid-value",
        ),
    ]
}

fn other_operations() -> Vec<Case> {
    vec![
        differ(
            "<cancel-commit/>",
            "operation-failed",
            "unknown-element",
            "RFC 6241 §8.4.4: an operation of the capability that it announces",
        ),
        same(
            "<commit><confirmed/><confirm-timeout>0</confirm-timeout></commit>",
            "invalid-value",
        ),
        differ(
            schema("<identifier>none</identifier>"),
            "invalid-value",
            "operation-failed",
            "RFC 6022 §3.1: no such schema is invalid-value",
        ),
        same(schema(""), "data-missing"),
        same(
            schema("<identifier>peer</identifier><format>yin</format>"),
            "invalid-value",
        ),
        differ(
            subscribe("<stream>none</stream>"),
            "invalid-value",
            "operation-failed",
            "RFC 5277 §2.1.1 leaves the tag open; the value of a parameter is wrong",
        ),
        same(
            subscribe("<startTime>2999-01-01T00:00:00Z</startTime>"),
            "bad-element",
        ),
    ]
}

fn filters() -> Vec<Case> {
    let xpath = |select: &str| {
        filtered(&format!(
            "<filter type=\"xpath\" xmlns:p=\"urn:peer\" select=\"{select}\"/>"
        ))
    };
    vec![
        same(filtered("<filter/>"), ""),
        same(subtree("<what/>"), ""),
        same(subtree("<entry><name>x</name></entry>"), X),
        same(subtree("<entry><name> x </name><value/></entry>"), X),
        differ(
            subtree("<entry><value/></entry>"),
            X,
            "<top><entry><value>1</value><name>x</name></entry></top>",
            "RFC 7950 §7.8.5: the keys are first",
        ),
        same(filtered("<filter type=\"other\"/>"), "bad-attribute"),
        same(filtered("<filter type=\"xpath\"/>"), "missing-attribute"),
        differ(
            xpath("/p:top["),
            "invalid-value",
            "bad-attribute",
            "RFC 6241 §8.9.1 leaves the tag open; peers have invalid-value",
        ),
        same(xpath("/p:top/p:entry[p:name='x']"), X),
        same(
            subtree("<size/>").replace(
                "</get-config>",
                "<with-defaults xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-with-defaults\">report-all</with-defaults></get-config>",
            ),
            "<top><size>5</size></top>",
        ),
    ]
}

/// A session in the framing of base:1.0, with bytes of our choosing.
struct Raw {
    child: Child,
    input: ChildStdin,
    messages: Receiver<String>,
}

impl Raw {
    fn start(command: &mut Command) -> Self {
        let spawned = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child = spawned.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let input = child.stdin.take().expect("its input");
        let mut output = child.stdout.take().expect("its output");
        let (sender, messages) = channel();
        thread::spawn(move || {
            let (mut text, mut block) = (Vec::new(), [0; 4096]);
            while let Ok(count @ 1..) = output.read(&mut block) {
                text.extend_from_slice(&block[..count]);
                while let Some(end) = text
                    .windows(END.len())
                    .position(|part| part == END.as_bytes())
                {
                    let message: Vec<u8> = text.drain(..end + END.len()).collect();
                    let message = String::from_utf8_lossy(&message[..end]).into_owned();
                    if sender.send(message).is_err() {
                        return;
                    }
                }
            }
        });
        let mut session = Self {
            child,
            input,
            messages,
        };
        let capabilities = "<capabilities><capability>urn:ietf:params:netconf:base:1.0</capability></capabilities>";
        session.exchange(&format!("<hello xmlns=\"{BASE}\">{capabilities}</hello>"));
        session
    }

    fn exchange(&mut self, message: &str) -> String {
        write!(self.input, "{message}{END}").expect("a running session");
        self.messages.recv_timeout(CLIENT_MAX).expect("a reply")
    }

    /// What the reply to a request has: `ok`, the tags of its errors, its data, or nothing.
    fn reply(&mut self, request: &str) -> String {
        let reply = self.exchange(&format!(
            "<rpc message-id=\"1\" xmlns=\"{BASE}\">{request}</rpc>"
        ));
        let text = without_namespaces(&reply);
        let tags: Vec<&str> = text
            .split("<error-tag>")
            .skip(1)
            .filter_map(|part| part.split('<').next())
            .collect();
        if !tags.is_empty() {
            return tags.join(" ");
        }
        if text.contains("<ok/>") {
            return "ok".to_owned();
        }
        let data = text.split_once("<data>").map(|(_, rest)| rest);
        match data.and_then(|rest| rest.rsplit_once("</data>")) {
            Some((data, _)) => data.to_owned(),
            None if text.contains("<data/>") => String::new(),
            None => "nothing".to_owned(),
        }
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A document without declarations of namespaces, prefixes of elements, and white space between elements.
fn without_namespaces(document: &str) -> String {
    let mut out = String::new();
    for part in document.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap_or((part, ""));
        let is_empty = tag.ends_with('/');
        let tag = tag.trim_end_matches('/');
        let name = tag.split_whitespace().next().unwrap_or_default();
        let (slash, name) = match name.strip_prefix('/') {
            Some(name) => ("/", name),
            None => ("", name),
        };
        let name = name.rsplit_once(':').map_or(name, |(_, name)| name);
        let end = if is_empty { "/" } else { "" };
        out += &format!("<{slash}{name}{end}>{}", text.trim());
    }
    out
}

#[test]
fn replies_are_those_of_netconfd_or_those_of_the_rfc() {
    let sandbox = Sandbox::new();
    sandbox.write("peer.yang", MODEL);
    create_store(&sandbox, "peer.yang");
    let store = [
        "--store",
        "embedded:store",
        "--netconf-socket",
        "netconf.sock",
    ];
    let _server = sandbox.serve(&store);
    let mut espalier = sandbox.command(&["netconf-stdio", "--netconf-socket", "netconf.sock"]);
    let mut ours = Raw::start(&mut espalier);
    // The requests of all groups are made in this order by one session of each server.
    let groups = || {
        let groups = [
            edits(),
            values(),
            default_operations(),
            start_of_filters(),
            filters(),
            parameters(),
            other_operations(),
        ];
        groups.into_iter().flatten()
    };
    for case in groups() {
        assert_eq!(ours.reply(&case.request), case.ours, "{}", case.request);
    }
    with_netconfd(
        |sandbox| {
            sandbox.write("peer.yang", MODEL);
            vec![
                format!(
                    "--modpath={}:/usr/share/yuma/modules",
                    sandbox.path("").display()
                ),
                "--module=peer".to_owned(),
            ]
        },
        |server: &Netconfd| {
            let mut theirs = Raw::start(&mut server.subsystem());
            let mut others = Vec::new();
            for case in groups() {
                let expected = case.theirs.unwrap_or(case.ours);
                let reply = theirs.reply(&case.request);
                if reply != expected {
                    others.push(format!("{}: {reply}, not {expected}", case.request));
                }
            }
            assert!(others.is_empty(), "{}", others.join("\n"));
        },
    );
}

/// Both servers have the same content before the filters: netconfd has committed what Espalier rejected.
fn start_of_filters() -> Vec<Case> {
    let content = "<entry><name>x</name><value>1</value></entry>";
    let replace = edit_with("", &top(" nc:operation=\"replace\"", content));
    vec![
        same(replace, "ok"),
        same(COMMIT, "ok"),
        same(subtree(""), X),
    ]
}
