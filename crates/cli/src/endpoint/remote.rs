//! An endpoint on a server, over RESTCONF (RFC 8040).
//!
//! Two resources in addition to RESTCONF make a server as capable as a store: the source texts of the modules (so
//! that paths and values are checked in this process, with the same messages), and documents with edit operations.
//! `serve` has both; see [`crate::commands`].

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, OnceLock};

use espalier_protocols::anchors::AnchorName;
use espalier_protocols::restconf::{
    AUTHOR_HEADER, CHANGED_HEADER, COMMENT_HEADER, DOCUMENT_BARE, DOCUMENT_HEADER,
    PRIVATE_CANDIDATE, SESSION_HEADER, VERSION_HEADER,
};
use espalier_service::server_state::state_schema_of;
use espalier_store::{
    CommitInfo, Content, Datastore, LoadMode, Retention, WithDefaults, WithOrigin,
};
use espalier_yang::Schema;
use espalier_yang::data::PrintOptions;
use espalier_yang::schema::SchemaSource;
use serde::Serialize;
use ureq::http::header::AUTHORIZATION;
use ureq::http::{HeaderValue, Response, StatusCode};
use ureq::tls::TlsConfig;
use ureq::typestate::WithBody;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{ConnectProxyConnector, Connector, TcpConnector};
use ureq::{Agent, Body, RequestBuilder, SendBody};

use crate::endpoint::connection_failure::unreachable;
use crate::endpoint::credentials;
use crate::endpoint::invocation::print_output;
use crate::endpoint::remote_error::failure_of;
use crate::endpoint::tls::{ClientIdentity, PinnedTls};
use crate::endpoint::unix_socket::{self, UnixConnector};
use crate::endpoint::{
    Change, Changed, DatastoreOperation, Differences, Endpoint, Invocation, Loaded,
    OperationRequest, Outcome, Read, Rollback, Upload,
};
use crate::settings::Settings;
use espalier_terminal::document::{self, Format, Found};
use espalier_terminal::path;
use espalier_terminal::{Failure, Result};

/// The root of RESTCONF (RFC 8040 §3.1), which is fixed in `serve`.
pub const RESTCONF_ROOT: &str = "/restconf";

/// The path of the module texts in `serve`.
pub const SCHEMA_PATH: &str = "/espalier/schema";

/// The path in `serve` that accepts documents with edit operations.
pub const EDIT_PATH: &str = "/espalier/edit";

/// What precedes the paths of requests over a Unix socket: the name of the host has no meaning there.
const SOCKET_BASE: &str = "http://localhost";

/// The maximum size of the module texts.
pub const SOURCE_BYTES_MAX: u64 = 256 << 20;

/// A server.
pub struct Remote {
    agent: Agent,
    authorization: Option<HeaderValue>,
    /// What precedes the paths of requests: the URL, and the path of the anchor if the settings name one.
    base: String,
    /// The URL, for messages.
    shown_url: String,
    /// The datastore, and its resource.
    datastore: Datastore,
    data: String,
    /// Session, author and comment, as headers.
    identity_headers: Vec<(&'static str, String)>,
    /// The same in the bodies of operations.
    identity: OperationRequest,
    source: OnceLock<SchemaSource>,
    schema: OnceLock<Arc<Schema>>,
}

impl Remote {
    /// The server at a URL. Nothing is sent yet.
    pub fn new(url: &str, settings: &Settings) -> Result<Self> {
        let socket = url.strip_prefix(unix_socket::SCHEME);
        if socket.is_none() && !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(Failure::usage(format!(
                "--server {}: this is not an HTTP URL",
                espalier_drivers::redacted_url(url)
            ))
            .hint("write it as in http://127.0.0.1:8080, or unix:FILE for its socket"));
        }
        if settings.validation.is_some() {
            return Err(Failure::usage(
                "--validation goes with --store: the store of a server keeps its own setting",
            )
            .hint(
                "set it with a command that writes to the store; `espalier info URL` prints it",
            ));
        }
        let datastore = settings.datastore()?;
        let authorization = credentials::authorization(settings)?;
        if authorization.is_some() {
            credentials::check_url(url)?;
        }
        let (agent, base) = match socket {
            Some(file) => (socket_agent(file), SOCKET_BASE),
            None => (agent(settings)?, url.trim_end_matches('/')),
        };
        let base = format!("{base}{}", anchor_path(settings));
        Ok(Self {
            agent,
            authorization,
            shown_url: espalier_drivers::redacted_url(url),
            base,
            data: data_path(datastore),
            datastore,
            identity_headers: identity_headers(settings),
            identity: OperationRequest {
                datastore: datastore.name().to_owned(),
                session: settings.session().to_owned(),
                author: settings.author().to_owned(),
                comment: settings.comment.clone().unwrap_or_default(),
                ..OperationRequest::default()
            },
            source: OnceLock::new(),
            schema: OnceLock::new(),
        })
    }

    /// Adds the identity headers to a request.
    fn with_identity<T>(&self, request: RequestBuilder<T>) -> RequestBuilder<T> {
        let headers = self.identity_headers.iter();
        let request = headers.fold(request, |request, (name, value)| {
            request.header(*name, value)
        });
        match &self.authorization {
            Some(value) => request.header(AUTHORIZATION, value),
            None => request,
        }
    }

    pub(super) fn unreachable(&self, error: &ureq::Error) -> Failure {
        unreachable(&self.shown_url, error)
    }

    pub(super) fn get(&self, path: &str, accept: &str) -> Result<Response<Body>> {
        let request = self.agent.get(format!("{}{path}", self.base));
        let answer = self.with_identity(request).header("accept", accept).call();
        answer.map_err(|error| self.unreachable(&error))
    }

    /// As [`Self::get`]; a whole datastore comes without an envelope.
    fn get_bare(&self, path: &str, accept: &str) -> Result<Response<Body>> {
        let request = self.agent.get(format!("{}{path}", self.base));
        let request = request.header(DOCUMENT_HEADER, DOCUMENT_BARE);
        let answer = self.with_identity(request).header("accept", accept).call();
        answer.map_err(|error| self.unreachable(&error))
    }

    /// Sends a JSON body.
    pub(super) fn post_json(&self, path: &str, body: &impl Serialize) -> Result<Response<Body>> {
        self.send_json(self.agent.post(format!("{}{path}", self.base)), body)
    }

    /// Sends a JSON Merge Patch.
    pub(super) fn patch_json(&self, path: &str, body: &impl Serialize) -> Result<Response<Body>> {
        self.send_json(self.agent.patch(format!("{}{path}", self.base)), body)
    }

    fn send_json(
        &self,
        request: RequestBuilder<WithBody>,
        body: &impl Serialize,
    ) -> Result<Response<Body>> {
        let text = serde_json::to_vec(body).map_err(io::Error::from)?;
        let answer = self
            .with_identity(request)
            .header("content-type", "application/json")
            .send(&text[..]);
        answer.map_err(|error| self.unreachable(&error))
    }

    /// Replaces the modules of the server; returns the report of the upgrade.
    pub fn upgrade(&self, source: &SchemaSource, settings: &Settings) -> Result<serde_json::Value> {
        let (drop_unknown, dry_run) = (settings.drop_unknown, settings.dry_run);
        let mut query = format!("?drop-unknown={drop_unknown}&dry-run={dry_run}");
        if !settings.fill.is_empty() {
            let fills = settings.fill.iter();
            let fills: BTreeMap<_, _> = fills.map(|fill| (&fill.path, &fill.value)).collect();
            let fills = serde_json::to_string(&fills).map_err(io::Error::from)?;
            query.push_str(&format!("&fills={}", path::percent_encoded(&fills)));
        }
        let mut answer = self.post_json(&format!("{SCHEMA_PATH}{query}"), source)?;
        if !answer.status().is_success() {
            return Err(failure_of(answer).hint_of_modules());
        }
        let text = answer.body_mut().read_to_string();
        let text = text.map_err(|error| self.unreachable(&error))?;
        serde_json::from_str(&text).map_err(|error| io::Error::from(error).into())
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        format: Format,
        body: SendBody<'_>,
    ) -> Result<Response<Body>> {
        self.send_with(method, path, format, &[], body)
    }

    /// Sends a request with additional headers.
    fn send_with(
        &self,
        method: &str,
        path: &str,
        format: Format,
        headers: &[(&str, &str)],
        body: SendBody<'_>,
    ) -> Result<Response<Body>> {
        let url = format!("{}{path}", self.base);
        let mut request = match method {
            "PUT" => self.agent.put(url),
            "PATCH" => self.agent.patch(url),
            _ => self.agent.post(url),
        };
        for &(name, value) in headers {
            request = request.header(name, value);
        }
        let answer = self
            .with_identity(request)
            .header("content-type", format.media_type())
            .header("accept", Format::Json.media_type())
            .send(body);
        answer.map_err(|error| self.unreachable(&error))
    }

    fn fetch_source(&self) -> Result<SchemaSource> {
        let mut answer = self.get(SCHEMA_PATH, "application/json")?;
        if !answer.status().is_success() {
            return Err(match answer.status() {
                // The response of a TLS port to plain HTTP; a login that is missing or rejected.
                StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED => failure_of(answer),
                _ => failure_of(answer).hint("is this an Espalier server?"),
            });
        }
        let text = answer
            .body_mut()
            .with_config()
            .limit(SOURCE_BYTES_MAX)
            .read_to_vec()
            .map_err(|error| self.unreachable(&error))?;
        serde_json::from_slice(&text)
            .map_err(|error| Failure::data(format!("the server's modules cannot be read: {error}")))
    }
}

/// The path of the anchor that the settings name; empty if they name none, for the default anchor of the server.
fn anchor_path(settings: &Settings) -> String {
    match settings.dataspace.is_some() || settings.anchor.is_some() {
        true => AnchorName::new(settings.dataspace(), settings.anchor()).path(),
        false => String::new(),
    }
}

/// The resource of a datastore (RFC 8527 §3.1).
fn data_path(datastore: Datastore) -> String {
    match datastore {
        Datastore::Running => format!("{RESTCONF_ROOT}/data"),
        Datastore::PrivateCandidate => format!("{RESTCONF_ROOT}/ds/{PRIVATE_CANDIDATE}"),
        other => format!("{RESTCONF_ROOT}/ds/ietf-datastores:{}", other.name()),
    }
}

fn identity_headers(settings: &Settings) -> Vec<(&'static str, String)> {
    let texts = [
        (SESSION_HEADER, settings.session.as_deref()),
        (AUTHOR_HEADER, Some(settings.author())),
        (COMMENT_HEADER, settings.comment.as_deref()),
    ];
    let headers = texts.into_iter().filter_map(|(name, text)| {
        let text = text?;
        Some((name, path::percent_encoded(text)))
    });
    headers.collect()
}

/// Creates the HTTP client of a Unix socket.
fn socket_agent(file: &str) -> Agent {
    let config = Agent::config_builder().http_status_as_error(false);
    Agent::with_parts(
        config.build(),
        UnixConnector::new(file.into()),
        DefaultResolver::default(),
    )
}

/// Creates the HTTP client with its trusted certificates and its client certificate.
fn agent(settings: &Settings) -> Result<Agent> {
    let config = Agent::config_builder().http_status_as_error(false);
    let identity = ClientIdentity::from_settings(settings)?;
    let Some(file) = settings.server_ca.as_deref() else {
        let shown = identity.map(ClientIdentity::into_ureq).transpose()?;
        let tls = TlsConfig::builder().client_cert(shown);
        return Ok(config.tls_config(tls.build()).build().into());
    };
    let connector =
        ().chain(ConnectProxyConnector::default())
            .chain(TcpConnector::default())
            .chain(PinnedTls::from_file(file, identity)?);
    Ok(Agent::with_parts(
        config.build(),
        connector,
        DefaultResolver::default(),
    ))
}

/// The result of a successful change, from the headers of the response.
fn changed(answer: Response<Body>) -> Result<Changed> {
    if !answer.status().is_success() {
        return Err(failure_of(answer));
    }
    let header = |name: &str| answer.headers().get(name)?.to_str().ok();
    Ok(Changed {
        version: header(VERSION_HEADER).and_then(|text| text.parse().ok()),
        is_changed: header(CHANGED_HEADER).and_then(|text| text.parse().ok()),
    })
}

/// The query of a read (RFC 8040 §4.8).
pub(super) fn query(read: &Read<'_>) -> String {
    let mut parts = Vec::new();
    if let Some(depth) = read.depth {
        parts.push(format!("depth={depth}"));
    }
    match read.content {
        Content::All => {}
        Content::Config => parts.push("content=config".to_owned()),
        Content::NonConfig => parts.push("content=nonconfig".to_owned()),
    }
    if let Some(fields) = read.fields {
        parts.push(format!("fields={}", path::percent_encoded(fields)));
    }
    let defaults = match read.with_defaults {
        WithDefaults::Explicit => "explicit",
        WithDefaults::ReportAll => "report-all",
        WithDefaults::Trim => "trim",
        WithDefaults::ReportAllTagged => "report-all-tagged",
    };
    parts.push(format!("with-defaults={defaults}"));
    if read.with_origin == WithOrigin::Shown {
        parts.push("with-origin".to_owned());
    }
    for (name, value) in read.pages.iter() {
        parts.push(format!("{name}={}", path::percent_encoded(value)));
    }
    format!("?{}", parts.join("&"))
}

/// Copies the response; JSON is indented.
fn copy(read: &Read<'_>, body: &mut dyn io::Read, out: &mut dyn Write) -> Result<()> {
    // The server prints a bare datastore as a store does.
    if read.path.is_root() {
        io::copy(body, out).map_err(ended)?;
        return Ok(());
    }
    copy_document(read.format, body, out)
}

fn ended(error: io::Error) -> Failure {
    Failure::data(format!("the answer ended early: {error}"))
}

/// Copies a document; JSON is indented.
fn copy_document(format: Format, body: &mut dyn io::Read, out: &mut dyn Write) -> Result<()> {
    match format {
        Format::Xml => {
            io::copy(body, out).map_err(ended)?;
        }
        Format::Json => {
            let value: serde_json::Value =
                serde_json::from_reader(body).map_err(|error| ended(error.into()))?;
            serde_json::to_writer_pretty(&mut *out, &value).map_err(io::Error::from)?;
        }
    }
    Ok(writeln!(out)?)
}

impl Endpoint for Remote {
    fn source(&self) -> Result<SchemaSource> {
        if self.source.get().is_none() {
            let _ = self.source.set(self.fetch_source()?);
        }
        Ok(self.source.get().cloned().unwrap_or_default())
    }

    fn schema(&self) -> Result<Arc<Schema>> {
        if let Some(schema) = self.schema.get() {
            return Ok(Arc::clone(schema));
        }
        let compiled = Schema::compile(&self.source()?).map_err(|errors| {
            Failure::data(format!(
                "the server's modules do not compile here\n  {errors}"
            ))
        })?;
        Ok(Arc::clone(self.schema.get_or_init(|| Arc::new(compiled))))
    }

    fn schema_of_path(&self, path: &str, version: Option<u64>) -> Result<Arc<Schema>> {
        let schema = self.schema_at(version)?;
        // The state has no versions.
        match version {
            Some(_) => Ok(schema),
            None => Ok(state_schema_of(&schema, path)?.unwrap_or(schema)),
        }
    }

    fn load(&self, upload: Upload<'_>) -> Result<Loaded> {
        let method = match upload.mode {
            LoadMode::Merge => "PATCH",
            LoadMode::Replace => "PUT",
            LoadMode::Create => "POST",
        };
        let mut input: &mut dyn io::Read = upload.input;
        let body = SendBody::from_reader(&mut input);
        let bare = [(DOCUMENT_HEADER, DOCUMENT_BARE)];
        let answer = self.send_with(method, &self.data, upload.format, &bare, body)?;
        Ok(Loaded {
            fragments: None,
            values: None,
            changed: changed(answer)?,
        })
    }

    fn read(&self, read: &Read<'_>, out: &mut dyn Write) -> Result<Found> {
        if let Some(version) = read.at {
            return Ok(Found::from_store(self.read_at(version, read, out)?));
        }
        let resource = path::api_path(read.schema, read.path)?;
        let path = format!("{}{resource}{}", self.data, query(read));
        let media = match (read.format, read.pages.needs_list()) {
            (Format::Xml, true) => "application/yang-data+xml-list",
            (format, _) => format.media_type(),
        };
        let mut answer = self.get_bare(&path, media)?;
        // A cursor that is not found is an error.
        if answer.status().as_u16() == 404 && !read.pages.needs_list() {
            return Ok(Found::Nothing);
        }
        if !answer.status().is_success() {
            return Err(failure_of(answer));
        }
        let mut body = answer.body_mut().with_config().limit(u64::MAX).reader();
        copy(read, &mut body, out)?;
        Ok(Found::Something)
    }

    fn history(&self, from: Option<u64>, limit: usize) -> Result<Vec<CommitInfo>> {
        self.commits(from, limit)
    }

    fn diff(
        &self,
        differences: &Differences<'_>,
        line: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        self.differences(differences, line)
    }

    fn rollback(&self, rollback: &Rollback) -> Result<Changed> {
        self.roll_back(rollback)
    }

    fn retention(&self) -> Result<Retention> {
        self.fetch_retention()
    }

    fn perform(&self, request: &OperationRequest) -> Result<Outcome> {
        self.post_operation(request)
    }

    fn invoke(&self, invocation: &Invocation, out: &mut Vec<u8>) -> Result<Found> {
        let resolved = invocation.resolve(&self.schema()?)?;
        let resource = path::api_path(&resolved.schema, &resolved.path)?;
        let root = match resolved.path.steps.len() {
            1 => "operations",
            _ => "data",
        };
        let mut body = Vec::new();
        print_output(&resolved.schema, &resolved.input, Format::Json, &mut body)?;
        let url = format!("{}{RESTCONF_ROOT}/{root}{resource}", self.base);
        let request = self.with_identity(self.agent.post(url));
        let answer = request
            .header("content-type", Format::Json.media_type())
            .header("accept", invocation.format.media_type())
            .send(&body[..]);
        let mut answer = answer.map_err(|error| self.unreachable(&error))?;
        if !answer.status().is_success() {
            return Err(failure_of(answer));
        }
        if answer.status() == StatusCode::NO_CONTENT {
            return Ok(Found::Nothing);
        }
        let mut body = answer.body_mut().with_config().limit(u64::MAX).reader();
        copy_document(invocation.format, &mut body, out)?;
        Ok(Found::Something)
    }

    fn set_retention(&self, retention: Retention) -> Result<()> {
        self.post_retention(retention)
    }

    fn change(&self, change: Change) -> Result<Changed> {
        let data = &self.data;
        match change {
            Change::Merge(tree) => {
                let schema = self.schema()?;
                let mut text = Vec::new();
                let options = PrintOptions::default();
                document::print(Format::Json, &schema, options, &mut text, |sink| {
                    // The printer itself returns the reason why it stopped.
                    let _ = tree.emit(sink);
                    Ok(Found::Something)
                })?;
                let body = SendBody::from_owned_reader(io::Cursor::new(text));
                changed(self.send("PATCH", data, Format::Json, body)?)
            }
            Change::Delete(path) => {
                // A list without keys is no resource of RESTCONF, so this is an operation of its own.
                let path = path.to_instance_identifier(&*self.schema()?);
                let outcome = self.post_operation(&OperationRequest {
                    operation: DatastoreOperation::DeleteNode { path },
                    ..self.identity.clone()
                })?;
                Ok(Changed {
                    version: outcome.value["version"].as_u64(),
                    is_changed: outcome.value["changed"].as_bool(),
                })
            }
            Change::Document {
                text,
                format,
                parameters,
            } => {
                let body = SendBody::from_owned_reader(io::Cursor::new(text));
                let path = format!(
                    "{EDIT_PATH}?datastore={}&{}",
                    self.datastore.name(),
                    parameters.query()
                );
                changed(self.send("POST", &path, format, body)?)
            }
        }
    }
}
