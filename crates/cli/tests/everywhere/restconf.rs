//! RESTCONF (RFC 8040, RFC 8527): the requests that any client would send, to a served store.

use std::sync::Arc;

use espalier_terminal::single_node;
use espalier_testkit::everywhere::{
    Base, Body, ContentChoice, DefaultsMode, EventFilterText, Format, FrontEnd, Limit, Operation,
    Outcome, Placement, Read, Receive, ReportedError, Request,
};
use espalier_yang::data::{PrintOptions, json};
use espalier_yang::{InstancePath, Schema};
use serde_json::{Value as Json, json};
use ureq::http::Response;

use crate::command_line::schema;
use crate::events::{self, ESTABLISH, establish_input, text_of};
use crate::library::{AUTHOR, PASSWORD};
use crate::process::{Sandbox, Server};
use crate::reported::{changed, compact, from_json};

const OPERATIONS: &str = "operations of NETCONF";
const PARAMETERS: &str = "parameters of edit-config";
const VERSIONS: &str = "earlier versions";
const LISTS: &str = "whole lists";
const TEXTS: &str = "values as text";

const LIMITS: [Limit; 5] = [
    Limit {
        name: OPERATIONS,
        reason: "RFC 8040 has no lock, commit, validate, copy, session; `/espalier/datastores` has, for --server",
    },
    Limit {
        name: PARAMETERS,
        reason: "RFC 8040 has neither default-operation nor test-option; `/espalier/edit` has, for --server",
    },
    Limit {
        name: VERSIONS,
        reason: "RFC 8040 has no history; `/espalier/history`, `diff`, `at` and `rollback` have, for --server",
    },
    Limit {
        name: LISTS,
        reason: "a list without keys can be read and not deleted (RFC 8040 §3.5)",
    },
    Limit {
        name: TEXTS,
        reason: "a body has values of JSON or XML; texts that are no value cannot be written as one",
    },
];

/// The modules of the state of the server.
const SERVER_STATE: [&str; 6] = [
    "ietf-netconf-acm",
    "ietf-netconf-monitoring",
    "ietf-restconf-monitoring",
    "ietf-subscribed-notifications",
    "ietf-yang-library",
    "nc-notifications",
];

/// What is sent.
struct HttpRequest {
    method: &'static str,
    url: String,
    body: Option<(Format, String)>,
    headers: Vec<(&'static str, String)>,
}

/// A client, with its server.
pub struct Restconf {
    agent: ureq::Agent,
    server: Server,
    /// What precedes the root of RESTCONF.
    prefix: &'static str,
    schema: Arc<Schema>,
    base: Base,
    authorization: Option<String>,
}

impl Restconf {
    /// Serves the store of a folder. Requests are those of a user, if there is one.
    pub fn start(sandbox: &Sandbox, user: Option<&str>) -> Self {
        Self::start_at(sandbox, user, "")
    }

    /// A client of the same anchor at its own path.
    pub fn start_on_anchor(sandbox: &Sandbox, user: Option<&str>) -> Self {
        Self::start_at(sandbox, user, "/dataspaces/default/anchors/default")
    }

    fn start_at(sandbox: &Sandbox, user: Option<&str>, prefix: &'static str) -> Self {
        let config = ureq::Agent::config_builder().http_status_as_error(false);
        Self {
            agent: config.build().into(),
            // State data can be written through the library too.
            server: sandbox.serve(&["--store", "embedded:store", "--allow-state-writes"]),
            prefix,
            schema: schema(),
            base: Base::default(),
            authorization: user.map(|user| {
                use base64::Engine;
                let text = format!("{user}:{PASSWORD}");
                let text = base64::engine::general_purpose::STANDARD.encode(text);
                format!("Basic {text}")
            }),
        }
    }

    fn request(&self, request: &Request) -> Result<HttpRequest, &'static str> {
        let sent = match &request.operation {
            Operation::Read(read) => return self.read(read),
            Operation::Edit {
                datastore,
                body,
                default_operation,
                test_option,
            } => {
                if !default_operation.is_empty() || !test_option.is_empty() {
                    return Err(PARAMETERS);
                }
                self.send("PATCH", datastore, "/", wrapped(*body))
            }
            Operation::Load {
                datastore,
                body,
                replaces,
            } => {
                let method = if *replaces { "PUT" } else { "PATCH" };
                let mut sent =
                    self.send(method, datastore, "/", (body.format, body.text.to_owned()));
                sent.headers.push(("espalier-document", "bare".to_owned()));
                sent
            }
            Operation::Create { .. }
            | Operation::Replace { .. }
            | Operation::Merge { .. }
            | Operation::Delete { .. } => return self.resource_request(&request.operation),
            Operation::Set {
                datastore,
                target,
                value,
            } => {
                let text = self.one_leaf(target, value).ok_or(TEXTS)?;
                self.send("PATCH", datastore, "/", (Format::Json, text))
            }
            Operation::Invoke { path, input } => {
                self.invocation(path, (input.format, input.text.to_owned()))
            }
            Operation::Receive(receive) => self.receive(receive),
            Operation::History { .. }
            | Operation::Difference { .. }
            | Operation::Rollback { .. } => {
                return Err(VERSIONS);
            }
            _ => return Err(OPERATIONS),
        };
        Ok(sent)
    }

    /// An RPC is a resource of its own, an action is one of data.
    fn invocation(&self, path: &str, body: (Format, String)) -> HttpRequest {
        let root = match path[1..].contains('/') {
            true => "/restconf/data",
            false => "/restconf/operations",
        };
        let sent = self.send("POST", "running", "/", body);
        HttpRequest {
            url: format!("{}{}{root}{path}", self.server.url, self.prefix),
            body: sent.body.filter(|(_, text)| !text.is_empty()),
            ..sent
        }
    }

    /// A request for a stream (RFC 8040 §6.3); one with a subtree filter establishes a subscription first (RFC 8650 §3.1).
    fn receive(&self, receive: &Receive) -> HttpRequest {
        if events::is_established(receive) {
            return self.invocation(ESTABLISH, (Format::Json, establish_input(receive)));
        }
        let encoded = espalier_terminal::path::percent_encoded;
        let mut parameters = Vec::new();
        let times = [("start-time", receive.start), ("stop-time", receive.stop)];
        for (name, time) in times {
            let text = time.map(|time| encoded(&text_of(time)));
            parameters.extend(text.map(|text| format!("{name}={text}")));
        }
        if let Some(EventFilterText::XPath(text)) = receive.filter {
            parameters.push(format!("filter={}", encoded(text)));
        }
        let encoding = match receive.format {
            Format::Json => "json",
            Format::Xml => "xml",
        };
        let stream = encoded(receive.stream);
        let path = format!(
            "/restconf/streams/{stream}/{encoding}?{}",
            parameters.join("&")
        );
        self.events_at(format!("{}{}{path}", self.server.url, self.prefix))
    }

    /// A request for the events at a URL.
    fn events_at(&self, url: String) -> HttpRequest {
        HttpRequest {
            method: "GET",
            url,
            body: None,
            headers: vec![("accept", "text/event-stream".to_owned())],
        }
    }

    /// The events of a response; for an established subscription, those at the place that it names.
    fn received(
        &self,
        receive: &Receive,
        request: &Request,
        mut answer: Response<ureq::Body>,
    ) -> Outcome {
        if events::is_established(receive) {
            let text = answer.body_mut().read_to_string().expect("a text");
            let output: Json = serde_json::from_str(&text).expect("JSON");
            let output = &output["ietf-subscribed-notifications:output"];
            let uri = output["ietf-restconf-subscribed-notifications:uri"].as_str();
            answer = self.call(self.events_at(uri.expect("a URI").to_owned()), request);
            assert_eq!(answer.status(), 200, "{output}");
        }
        let body = answer.into_body().into_reader();
        let next = events::sent_messages(body, receive.format, self.base);
        events::outcome(receive, next)
    }

    /// A request for one resource.
    fn resource_request(&self, operation: &Operation) -> Result<HttpRequest, &'static str> {
        Ok(match operation {
            Operation::Create {
                datastore,
                parent,
                body,
                placement,
            } => {
                let body = (body.format, body.text.to_owned());
                let sent = self.send("POST", datastore, parent, body);
                placed(sent, *placement)
            }
            Operation::Replace {
                datastore,
                target,
                body,
                placement,
            } => {
                let body = (body.format, body.text.to_owned());
                let sent = self.send("PUT", datastore, target, body);
                placed(sent, *placement)
            }
            Operation::Merge {
                datastore,
                target,
                body,
            } => self.send(
                "PATCH",
                datastore,
                target,
                (body.format, body.text.to_owned()),
            ),
            Operation::Delete { datastore, target } => {
                let path = InstancePath::parse_cli_path(&self.schema, target);
                if path.is_ok_and(|path| is_whole_list(&self.schema, &path)) {
                    return Err(LISTS);
                }
                let sent = self.send("DELETE", datastore, target, (Format::Json, String::new()));
                HttpRequest { body: None, ..sent }
            }
            _ => return Err(OPERATIONS),
        })
    }

    /// The document of a leaf and the nodes above it.
    fn one_leaf(&self, target: &str, value: &str) -> Option<String> {
        let path = InstancePath::parse_cli_path(&self.schema, target).ok()?;
        let tree = single_node::tree_of(&self.schema, &path, Some(value)).ok()?;
        let mut text = Vec::new();
        let mut printer = json::Printer::new(&self.schema, &mut text, PrintOptions::default());
        tree.emit(&mut printer).ok()?;
        printer.finish().ok()?;
        String::from_utf8(text).ok()
    }

    fn send(
        &self,
        method: &'static str,
        datastore: &str,
        path: &str,
        body: (Format, String),
    ) -> HttpRequest {
        HttpRequest {
            method,
            url: format!(
                "{}{}{}",
                self.server.url,
                self.prefix,
                resource(datastore, path)
            ),
            body: Some(body),
            headers: Vec::new(),
        }
    }

    fn read(&self, read: &Read) -> Result<HttpRequest, &'static str> {
        if read.version.is_some() {
            return Err(VERSIONS);
        }
        let accept = media(read.format).to_owned();
        let mut sent = self.send(
            "GET",
            read.datastore,
            read.path,
            (Format::Json, String::new()),
        );
        sent.url = format!("{}?{}", sent.url, query(read));
        Ok(HttpRequest {
            body: None,
            headers: vec![("accept", accept)],
            ..sent
        })
    }

    fn call(&self, sent: HttpRequest, request: &Request) -> Response<ureq::Body> {
        let mut builder = ureq::http::Request::builder()
            .method(sent.method)
            .uri(&sent.url);
        let encoded = espalier_terminal::path::percent_encoded;
        builder = builder.header("espalier-author", encoded(request.author.unwrap_or(AUTHOR)));
        if !request.session.is_empty() {
            builder = builder.header("espalier-session", request.session);
        }
        if let Some(comment) = request.comment {
            builder = builder.header("espalier-comment", encoded(comment));
        }
        if let Some(authorization) = &self.authorization {
            builder = builder.header("authorization", authorization);
        }
        let has_accept = sent.headers.iter().any(|(name, _)| *name == "accept");
        for (name, value) in sent.headers {
            builder = builder.header(name, value);
        }
        if !has_accept {
            builder = builder.header("accept", media(Format::Json));
        }
        let answer = match sent.body {
            Some((format, text)) => {
                let builder = builder.header("content-type", media(format));
                self.agent.run(builder.body(text).expect("a request"))
            }
            None => self.agent.run(builder.body(()).expect("a request")),
        };
        answer.expect("an answer")
    }
}

fn is_whole_list(schema: &Schema, path: &InstancePath) -> bool {
    path.steps.last().is_some_and(|step| {
        schema.node(step.node).is_list() && step.keys == espalier_yang::Keys::None
    })
}

/// An empty document is no datastore resource (RFC 8040 §4.6), so it gets its envelope.
fn wrapped(body: Body) -> (Format, String) {
    match body.text {
        "{}" => (body.format, r#"{"ietf-restconf:data":{}}"#.to_owned()),
        text => (body.format, text.to_owned()),
    }
}

fn media(format: Format) -> &'static str {
    match format {
        Format::Json => "application/yang-data+json",
        Format::Xml => "application/yang-data+xml",
    }
}

fn resource(datastore: &str, path: &str) -> String {
    let path = if path == "/" { "" } else { path };
    match datastore {
        "running" => format!("/restconf/data{path}"),
        "private-candidate" => format!("/restconf/ds/espalier-datastores:private-candidate{path}"),
        name => format!("/restconf/ds/ietf-datastores:{name}{path}"),
    }
}

fn placed(sent: HttpRequest, placement: Option<Placement>) -> HttpRequest {
    let Some(Placement { insert, point }) = placement else {
        return sent;
    };
    let point = point.map(espalier_terminal::path::percent_encoded);
    let point = point.map_or_else(String::new, |point| format!("&point={point}"));
    HttpRequest {
        url: format!("{}?insert={insert}{point}", sent.url),
        ..sent
    }
}

fn query(read: &Read) -> String {
    let content = match read.content {
        ContentChoice::All => "all",
        ContentChoice::Config => "config",
        ContentChoice::NonConfig => "nonconfig",
        ContentChoice::Wrong(text) => text,
    };
    let defaults = match read.with_defaults {
        DefaultsMode::Explicit => "explicit",
        DefaultsMode::ReportAll => "report-all",
        DefaultsMode::Trim => "trim",
        DefaultsMode::ReportAllTagged => "report-all-tagged",
        DefaultsMode::Wrong(text) => text,
    };
    let mut parts = vec![
        format!("content={content}"),
        format!("with-defaults={defaults}"),
    ];
    parts.extend(read.depth.map(|depth| format!("depth={depth}")));
    let encoded = espalier_terminal::path::percent_encoded;
    parts.extend(
        read.fields
            .map(|fields| format!("fields={}", encoded(fields))),
    );
    if read.with_origin {
        parts.push("with-origin".to_owned());
    }
    if let Some(page) = read.page {
        parts.push(format!("offset={}&limit={}", page.offset, page.limit));
    }
    parts.join("&")
}

impl FrontEnd for Restconf {
    fn run(&mut self, request: &Request) -> Outcome {
        let sent = match self.request(request) {
            Ok(sent) => sent,
            Err(limit) => return Outcome::Inexpressible(limit),
        };
        let mut answer = self.call(sent, request);
        let status = answer.status().as_u16();
        if let Operation::Receive(receive) = &request.operation
            && status < 300
        {
            return self.received(receive, request, answer);
        }
        let text = answer.body_mut().read_to_string().expect("a text");
        if status >= 300 {
            return failed(request, status, &text);
        }
        if let Operation::Read(read) = &request.operation {
            return Outcome::Success(data(read, &text));
        }
        if let Operation::Invoke { .. } = &request.operation {
            return Outcome::Success(match text.is_empty() {
                true => Json::Null,
                false => serde_json::from_str(&text).expect("JSON"),
            });
        }
        let header = |name: &str| answer.headers().get(name)?.to_str().ok();
        let version = header("espalier-version").and_then(|text| text.parse().ok());
        let is_changed = header("espalier-changed").and_then(|text| text.parse().ok());
        changed(version, is_changed, self.base.version)
    }

    fn limits(&self) -> &'static [Limit] {
        &LIMITS
    }

    fn start_case(&mut self, base: Base) {
        self.base = base;
    }
}

/// The result of a read, without the envelope of RFC 8040 §3.4.
fn data(read: &Read, text: &str) -> Json {
    match read.format {
        Format::Xml => match compact(text) {
            Json::String(text) if read.path == "/" => {
                let envelope = "urn:ietf:params:xml:ns:yang:ietf-restconf";
                text.replacen(envelope, "urn:ietf:params:xml:ns:netconf:base:1.0", 1)
                    .into()
            }
            other => other,
        },
        Format::Json => {
            let value: Json = serde_json::from_str(text).expect("JSON");
            match read.path {
                "/" => without_server_state(value["ietf-restconf:data"].clone()),
                _ => value,
            }
        }
    }
}

/// A whole operational datastore over RESTCONF also has the state of the server (docs/decisions/0070).
fn without_server_state(mut data: Json) -> Json {
    if let Json::Object(members) = &mut data {
        members.retain(|name, _| {
            let module = name.split_once(':').map_or("", |(module, _)| module);
            !SERVER_STATE.contains(&module)
        });
    }
    data
}

fn failed(request: &Request, status: u16, text: &str) -> Outcome {
    let errors = match text.starts_with('<') {
        true => vec![from_xml(text)],
        false => {
            let body: Json = serde_json::from_str(text).unwrap_or_default();
            let errors = body["ietf-restconf:errors"]["error"].as_array();
            let errors = errors.unwrap_or_else(|| panic!("{request:?}: {status} {text}"));
            errors.iter().map(from_json).collect()
        }
    };
    let first = &errors[0];
    assert!(
        statuses_of(&first.tag).contains(&status),
        "{request:?}: {status} {text}"
    );
    let is_read = matches!(request.operation, Operation::Read(_));
    if is_read && status == 404 && first.message.starts_with("there is no such instance") {
        return Outcome::Missing;
    }
    match status {
        // A missing subscription is 404 with its own error (RFC 8650 §3.3).
        404 if first.app_tag.is_none() => Outcome::Failure(vec![form(&first.tag)]),
        405 if first.message == "the resource does not allow this method" => {
            Outcome::Failure(vec![form(&first.tag)])
        }
        400 if is_read && first.tag == "malformed-message" => {
            Outcome::Failure(vec![form(&first.tag)])
        }
        _ => Outcome::Failure(errors),
    }
}

fn from_xml(text: &str) -> ReportedError {
    let leaf = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        Some(rest.split_once('<')?.0.to_owned())
    };
    from_json(&json!({
        "error-type": leaf("error-type"),
        "error-tag": leaf("error-tag"),
        "error-app-tag": leaf("error-app-tag"),
        "error-message": leaf("error-message"),
    }))
}

/// The table of RFC 8040 §7.
fn statuses_of(tag: &str) -> &'static [u16] {
    match tag {
        "in-use" | "lock-denied" | "resource-denied" | "data-exists" | "data-missing" => &[409],
        "invalid-value" => &[400, 404, 406, 416],
        "too-big" => &[400, 413],
        "access-denied" => &[401, 403],
        "rollback-failed" => &[500],
        "operation-not-supported" => &[400, 405, 501],
        "operation-failed" => &[412, 500],
        _ => &[400],
    }
}

/// An error whose message and path RESTCONF has in words of its own.
fn form(tag: &str) -> ReportedError {
    ReportedError {
        kind: "protocol".to_owned(),
        tag: tag.to_owned(),
        ..ReportedError::default()
    }
}

/// The limits and prescribed forms, without a server.
pub struct Rules;

impl FrontEnd for Rules {
    fn run(&mut self, _: &Request) -> Outcome {
        unreachable!("the rules run nothing")
    }

    fn limits(&self) -> &'static [Limit] {
        &LIMITS
    }

    /// RFC 8040 prescribes other forms for some errors: a resource that does not exist is 404 `invalid-value` (§7), a
    /// resource without the method is 405 (§4), and a URL is read step by step, so a malformed one has other columns. The
    /// path of an error is an instance identifier (§7.1), which a malformed path is not. Streams have two more.
    fn expected(&self, request: &Request, reference: &Outcome) -> Outcome {
        let Outcome::Failure(errors) = reference else {
            return reference.clone();
        };
        let [error] = &**errors else {
            return reference.clone();
        };
        if let Operation::Receive(receive) = &request.operation {
            return Outcome::Failure(vec![expected_of_stream(receive, error)]);
        }
        let is_datastore = error.message.starts_with("there is no datastore");
        if is_datastore || is_not_found(&request.operation, error) {
            return Outcome::Failure(vec![form("invalid-value")]);
        }
        let is_read = matches!(request.operation, Operation::Read(_));
        let is_delete = matches!(request.operation, Operation::Delete { .. });
        match &*error.tag {
            "malformed-message" if is_read => Outcome::Failure(vec![form(&error.tag)]),
            "operation-not-supported" if is_delete && error.path.is_some() => {
                Outcome::Failure(vec![form(&error.tag)])
            }
            _ if !has_placement(&request.operation)
                && error.kind == "protocol"
                && error.path.as_deref() == target(&request.operation) =>
            {
                let error = error.clone();
                Outcome::Failure(vec![ReportedError {
                    path: None,
                    ..error
                }])
            }
            _ => reference.clone(),
        }
    }
}

/// The error of a request for a stream: one that does not exist is 404, and an end requires a start (RFC 8040 §4.8.8).
fn expected_of_stream(receive: &Receive, error: &ReportedError) -> ReportedError {
    let is_missing = error.message.starts_with("there is no event stream");
    match (receive.start, receive.stop) {
        _ if events::is_established(receive) => error.clone(),
        _ if is_missing => form(&error.tag),
        (None, Some(_)) => ReportedError {
            message: "“stop-time” requires “start-time”".to_owned(),
            ..form(&error.tag)
        },
        _ => error.clone(),
    }
}

/// The resource of an operation.
fn target(operation: &Operation) -> Option<&'static str> {
    match operation {
        Operation::Read(read) => Some(read.path),
        Operation::Create { parent, .. } => Some(parent),
        Operation::Replace { target, .. }
        | Operation::Merge { target, .. }
        | Operation::Delete { target, .. } => Some(target),
        _ => None,
    }
}

/// Whether an operation has `insert`, whose `point` is a path too.
fn has_placement(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Create {
            placement: Some(_),
            ..
        } | Operation::Replace {
            placement: Some(_),
            ..
        }
    )
}

/// Whether an error of the library says that the resource of an operation does not exist.
fn is_not_found(operation: &Operation, error: &ReportedError) -> bool {
    let is_unknown = matches!(&*error.tag, "unknown-element" | "unknown-namespace");
    let is_missing = error.tag == "data-missing" && error.app_tag.is_none();
    let must_exist = !matches!(operation, Operation::Replace { .. });
    target(operation).is_some()
        && (is_unknown && error.kind == "protocol" && !has_placement(operation)
            || is_missing && must_exist)
}
