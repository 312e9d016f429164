//! GET and HEAD of data (RFC 8040 §4.2, §4.3).

use std::io::Write;
use std::sync::Arc;

use espalier_service::SessionDatastore;
use espalier_store::{
    Content, Datastore, PageNames, PageRequest, Selection, View, WithDefaults, WithOrigin,
};
use espalier_yang::data::{PrintError, Stop, Wrapping};
use espalier_yang::path::Fields;
use espalier_yang::{InstancePath, Mark, NodeId, Sink, Value};
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{Method, Response, StatusCode};
use tokio::task::spawn_blocking;

use super::Restconf;
use super::codec::{self, Existence, PrintFailure, Representation};
use super::conditions::{ConditionResult, Conditions, Validators};
use super::error::{Failure, Result};
use super::media::{self, Format, MediaType};
use super::query::{AllowedParameters, Query};
use super::resource::is_whole_list;
use super::response_body::{self, BodyWriter, InlineBuffer};
use super::routes::{HttpResponse, status_only, with_body};

/// A read in progress: everything that a blocking thread needs.
struct ReadJob {
    view: View,
    /// For a whole datastore, the state of the server, which has other models.
    state: Option<View>,
    path: InstancePath,
    selection: Selection,
    page: Option<PageRequest>,
    media: MediaType,
    method: Method,
    conditions: Conditions,
    datastore: Datastore,
    /// The validators of the YANG library.
    library: Option<Validators>,
    /// Whether a whole datastore has its envelope.
    wrapping: Wrapping,
}

/// The result of the attempt to produce a small response.
enum ReadAttempt {
    Complete(HttpResponse),
    TooLarge,
}

/// Handles GET or HEAD of the resource at `path`.
pub(super) async fn read(
    service: &Restconf,
    of: &SessionDatastore,
    path: InstancePath,
    parts: &Parts,
) -> Result<HttpResponse> {
    let media = match is_whole_list(of.schema(), &path) {
        true => media::negotiate_for_list(&parts.headers)?,
        false => media::negotiate(&parts.headers)?,
    };
    let limits = &service.config().limits;
    let query = Query::parse(
        parts.uri.query(),
        AllowedParameters::Selection,
        limits.query_bytes_max,
    )?;
    let selection = selection(of, &path, &query)?;
    let page = page_request(of, &path, &query)?;
    // A selection from a large subtree may take long and still give a small response; providers of
    // operational state and remote engines may be slow. Such reads do not run on this task.
    let runs_inline = of.datastore() != Datastore::Operational
        && returns_all_it_reads(&selection)
        && page
            .as_ref()
            .is_none_or(PageRequest::reads_only_its_entries)
        && !of.is_remote();
    let (method, conditions) = (parts.method.clone(), Conditions::of(&parts.headers));
    let (of, wrapping) = (of.clone(), media::wrapping(&parts.headers));
    let read = move || -> Result<_> {
        let job = ReadJob {
            state: server_state(&of, &path, &selection, wrapping)?,
            library: of.library_tag(&path)?.map(Validators::of_library),
            view: of.view_for_read(&path, &selection)?,
            selection,
            page,
            path,
            media,
            method,
            conditions,
            datastore: of.datastore(),
            wrapping,
        };
        let attempt = job.try_small()?;
        // If the validators have to be read from the store, do that on this thread too.
        let validators = match attempt {
            ReadAttempt::Complete(_) => None,
            ReadAttempt::TooLarge => job.validators()?,
        };
        Ok((job, attempt, validators))
    };
    let (job, attempt, validators) = match runs_inline {
        true => read()?,
        false => {
            let attempt = spawn_blocking(read);
            attempt.await.map_err(|error| Failure::internal(&error))??
        }
    };
    match attempt {
        ReadAttempt::Complete(response) => Ok(response),
        ReadAttempt::TooLarge => stream_response(service, job, validators).await,
    }
}

/// The response that is streamed from its own thread; for HEAD, its headers.
async fn stream_response(
    service: &Restconf,
    job: ReadJob,
    validators: Option<Validators>,
) -> Result<HttpResponse> {
    let media = job.media;
    let mut response = match job.method {
        Method::HEAD => status_only(StatusCode::OK),
        _ => {
            let permit = Arc::clone(&service.server.streams).acquire_owned().await;
            let permit = permit.map_err(|error| Failure::internal(&error))?;
            let pause_max = service.config().limits.response_pause_max;
            let (writer, body) = response_body::stream(pause_max);
            spawn_blocking(move || {
                job.stream(writer);
                drop(permit);
            });
            Response::new(body)
        }
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, media.header());
    if let Some(validators) = validators {
        validators.write(headers, media.format());
    }
    Ok(response)
}

/// The state of the server that is part of a whole operational datastore. A selection by `fields` names nodes of the
/// anchor's models, and a document without an envelope is a copy of the anchor's data.
fn server_state(
    of: &SessionDatastore,
    path: &InstancePath,
    selection: &Selection,
    wrapping: Wrapping,
) -> Result<Option<View>> {
    let is_whole = path.is_root()
        && of.datastore() == Datastore::Operational
        && selection.fields.is_none()
        && wrapping == Wrapping::ResourceOrNodes;
    let state = match is_whole {
        true => of.server_state()?,
        false => None,
    };
    Ok(match state {
        Some(state) => Some(state.view_for_read(path, selection)?),
        None => None,
    })
}

/// The selection of the query string.
fn selection(of: &SessionDatastore, path: &InstancePath, query: &Query<'_>) -> Result<Selection> {
    let schema = of.schema();
    let fields = match &query.fields {
        Some(text) => Some(Fields::parse(schema, path.target(), text)?),
        None => None,
    };
    Ok(Selection {
        depth: query.depth.flatten(),
        content: query.content.unwrap_or_default(),
        fields,
        with_defaults: query.with_defaults.unwrap_or_else(|| basic_mode(of, path)),
        with_origin: with_origin(of.datastore(), query)?,
        sublist_limit: query.pages.sublist_limit(),
        ..Selection::default()
    })
}

/// The page of the query string.
fn page_request(
    of: &SessionDatastore,
    path: &InstancePath,
    query: &Query<'_>,
) -> Result<Option<PageRequest>> {
    let schema = of.schema();
    if query.pages.needs_list() && !is_whole_list(schema, path) {
        return Err(Failure::no_list());
    }
    let request = query.pages.request(schema, path, &PageNames::Modules);
    request.map_err(Failure::of_page)
}

/// How default values are reported if the request has no `with-defaults`. The operational datastore
/// contains the values in use, including defaults (RFC 8342 §5.3). The default of a target leaf or
/// leaf-list is its value in any basic mode (RFC 8040 §3.5.4).
fn basic_mode(of: &SessionDatastore, path: &InstancePath) -> WithDefaults {
    let schema = of.schema();
    let is_value = path
        .target()
        .is_some_and(|target| schema.node(target).as_value().is_some());
    match of.datastore() {
        Datastore::Operational => WithDefaults::ReportAll,
        _ if is_value => WithDefaults::ReportAll,
        _ => WithDefaults::default(),
    }
}

/// RFC 8527 §3.2.2: only the operational state datastore has origins.
fn with_origin(datastore: Datastore, query: &Query<'_>) -> Result<WithOrigin> {
    match query.with_origin {
        Some(_) if datastore != Datastore::Operational => Err(Failure::invalid(
            "“with-origin” requires the operational state datastore",
        )),
        shown => Ok(shown.unwrap_or_default()),
    }
}

/// Whether the response contains everything that is read, so that a small response is also fast.
fn returns_all_it_reads(selection: &Selection) -> bool {
    selection.fields.is_none()
        && selection.sublist_limit.is_none()
        && selection.depth.is_none()
        && selection.content == Content::All
        && selection.with_defaults != WithDefaults::Trim
}

impl ReadJob {
    fn try_small(&self) -> Result<ReadAttempt> {
        let format = self.media.format();
        let is_list = is_whole_list(self.view.schema(), &self.path);
        if format == Format::Xml && self.media != MediaType::XmlList && is_list {
            self.check_single()?;
        }
        if let Some(response) = self.conditional_response(format)? {
            return Ok(ReadAttempt::Complete(response));
        }
        match self.print(InlineBuffer::default()) {
            Ok((Existence::Exists, InlineBuffer(bytes))) => {
                let mut response = with_body(&self.method, self.media.header(), bytes);
                if let Some(validators) = self.validators()? {
                    validators.write(response.headers_mut(), format);
                }
                Ok(ReadAttempt::Complete(response))
            }
            Ok((Existence::Missing, _)) => Err(self.not_found()),
            Err(PrintFailure::Print(PrintError::Write(_))) => Ok(ReadAttempt::TooLarge),
            Err(PrintFailure::Print(error)) => Err(Failure::internal(&error)),
            Err(PrintFailure::Store(error)) => Err(error.into()),
        }
    }

    /// The response if the conditions decide it: 304, or an error.
    fn conditional_response(&self, format: Format) -> Result<Option<HttpResponse>> {
        if self.conditions.is_empty() {
            return Ok(None);
        }
        if !self.exists()? {
            return Err(self.not_found());
        }
        let Some(validators) = self.validators()? else {
            return Ok(None);
        };
        match self.conditions.evaluate_read(&validators, format) {
            ConditionResult::Proceed => Ok(None),
            ConditionResult::Failed => Err(Failure::precondition()),
            ConditionResult::NotModified => {
                let mut response = status_only(StatusCode::NOT_MODIFIED);
                validators.write(response.headers_mut(), format);
                Ok(Some(response))
            }
        }
    }

    /// Whether GET returns anything: an existing node, or a default.
    fn exists(&self) -> Result<bool> {
        // A list without entries has a page. If its parent is missing, the read of the page finds that.
        if self.page.is_some() {
            return Ok(true);
        }
        if !self.view.exists(&self.path)? {
            return Ok(self.count_at_most(1)? > 0);
        }
        let may_show_defaults = matches!(
            self.selection.with_defaults,
            WithDefaults::ReportAll | WithDefaults::ReportAllTagged
        );
        Ok(may_show_defaults || !codec::is_empty_container(&self.view, &self.path)?)
    }

    /// Prints into a streamed body; a failed one does not get its end marker.
    fn stream(&self, writer: BodyWriter) {
        let ended = self.print(writer).and_then(|(_, writer)| {
            let ended = writer.end();
            ended.map_err(|error| PrintFailure::Print(PrintError::Write(error)))
        });
        match ended {
            Ok(()) => {}
            Err(PrintFailure::Print(PrintError::Write(error))) => {
                tracing::debug!(%error, "a client disconnected before its response ended");
            }
            Err(PrintFailure::Print(error)) => tracing::error!(%error, "a response was aborted"),
            Err(PrintFailure::Store(error)) => tracing::error!(%error, "a response was aborted"),
        }
    }

    fn print<W: Write>(&self, out: W) -> std::result::Result<(Existence, W), PrintFailure> {
        let views = (&self.view, self.state.as_ref());
        codec::print(views, &self.representation(&self.selection), out)
    }

    fn representation<'a>(&'a self, selection: &'a Selection) -> Representation<'a> {
        Representation {
            path: &self.path,
            selection,
            page: self.page.as_ref(),
            media: self.media,
            wrapping: self.wrapping,
        }
    }

    /// The validators of the resource. Operational state has none, as parts of it change without a commit; except for
    /// the YANG library, if the reader sees all of it.
    fn validators(&self) -> Result<Option<Validators>> {
        if self.datastore == Datastore::Operational {
            let library = self.library.clone();
            return Ok(library.filter(|_| self.view.shows_all(&self.path)));
        }
        Validators::of_resource(&self.view, &self.path)
    }

    fn not_found(&self) -> Failure {
        let schema = self.view.schema();
        let name = self.path.target().map(|node| schema.path(node));
        let name = name.unwrap_or_default();
        Failure::not_found(format!("there is no such instance of {name}"))
    }

    /// RFC 8040 §4.3: an XML response has at most one list entry.
    fn check_single(&self) -> Result<()> {
        if self.count_at_most(2)? > 1 {
            return Err(Failure::multiple_entries_in_xml());
        }
        Ok(())
    }

    /// The number of top nodes of the response, counted up to `limit`.
    fn count_at_most(&self, limit: usize) -> Result<usize> {
        let probe = Selection {
            depth: Some(1),
            with_defaults: self.selection.with_defaults,
            ..Selection::default()
        };
        let mut count = TopNodeCounter {
            depth: 0,
            entries: 0,
            limit,
        };
        match &self.page {
            Some(_) => self.representation(&probe).read(&self.view, &mut count)?,
            None => self.view.read(&self.path, &probe, &mut count)?,
        };
        Ok(count.entries)
    }
}

/// Counts top nodes, up to a limit.
struct TopNodeCounter {
    depth: usize,
    entries: usize,
    limit: usize,
}

impl TopNodeCounter {
    fn node(&mut self) -> std::result::Result<(), Stop> {
        if self.depth > 0 {
            return Ok(());
        }
        self.entries += 1;
        match self.entries < self.limit {
            true => Ok(()),
            false => Err(Stop),
        }
    }
}

impl Sink for TopNodeCounter {
    fn open(&mut self, _: NodeId, _: Mark) -> std::result::Result<(), Stop> {
        self.node()?;
        self.depth += 1;
        Ok(())
    }

    fn leaf(&mut self, _: NodeId, _: Value, _: Mark) -> std::result::Result<(), Stop> {
        self.node()
    }

    fn any(&mut self, _: NodeId, _: &str, _: Mark) -> std::result::Result<(), Stop> {
        self.node()
    }

    fn close(&mut self, _: Mark) -> std::result::Result<(), Stop> {
        self.depth -= 1;
        Ok(())
    }
}
