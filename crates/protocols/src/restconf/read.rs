//! GET and HEAD of data (RFC 8040 §4.2, §4.3).

use std::sync::Arc;

use axum::body::Body;
use espalier_store::{Page, Selection, Tree, View};
use espalier_yang::data::{PrintError, Stop};
use espalier_yang::path::Fields;
use espalier_yang::{InstancePath, Mark, NodeId, Schema, Sink, Value};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode};

use super::Restconf;
use super::codec::{self, AnswerError, Found};
use super::conditions::{Conditions, Validators, Verdict};
use super::error::{Failure, Result};
use super::limits::PAGE_ENTRIES_MAX;
use super::media::{self, Format, MediaType};
use super::query::{Allowed, Query};
use super::resource::is_whole_list;
use super::response_body::{self, BodyWriter, Inline};
use super::routes::{Answer, status_only, with_body};

/// Answers GET or HEAD of the resource at `path`.
pub(super) async fn read(
    service: &Restconf,
    tree: &Tree,
    path: InstancePath,
    parts: &Parts,
) -> Result<Answer> {
    let media = media::accepted(&parts.headers)?;
    let limits = &service.config.limits;
    let query = Query::parse(
        parts.uri.query(),
        Allowed::Selecting,
        limits.query_bytes_max,
    )?;
    let selection = selection(tree.schema(), &path, &query)?;
    let view = tree.view()?;
    let mut answer = match small(&view, &path, &selection, media, parts)? {
        Size::Small(answer) => answer,
        Size::Large => {
            let validators = Validators::of(&view.stamp(&path)?);
            let mut answer = match parts.method {
                Method::HEAD => Response::new(Body::empty()),
                _ => {
                    let permit = Arc::clone(&service.streams).acquire_owned().await;
                    let permit = permit.map_err(|error| Failure::internal(&error))?;
                    let (writer, body) = response_body::stream(limits.answer_pause_max);
                    tokio::task::spawn_blocking(move || {
                        stream(&view, &path, &selection, media.format(), writer);
                        drop(permit);
                    });
                    Response::new(body)
                }
            };
            answer.headers_mut().insert(CONTENT_TYPE, media.header());
            validators.write(answer.headers_mut(), media.format());
            answer
        }
    };
    let headers = answer.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(answer)
}

/// What the query string selects.
fn selection(schema: &Schema, path: &InstancePath, query: &Query<'_>) -> Result<Selection> {
    let page = match (query.limit, query.offset) {
        (None, None) => None,
        _ if !is_whole_list(schema, path) => {
            return Err(Failure::invalid(
                "“limit” and “offset” are for lists and leaf-lists as a whole",
            ));
        }
        (limit, offset) => Some(Page {
            after: None,
            offset: offset.unwrap_or(0),
            limit: limit.unwrap_or(PAGE_ENTRIES_MAX),
        }),
    };
    let fields = match &query.fields {
        Some(text) => Some(Fields::parse(schema, path.target(), text)?),
        None => None,
    };
    Ok(Selection {
        depth: query.depth.flatten(),
        content: query.content.unwrap_or_default(),
        fields,
        with_defaults: query.with_defaults.unwrap_or_default(),
        page,
    })
}

/// An answer that was made at once, or the news that it cannot be.
enum Size {
    Small(Answer),
    Large,
}

fn small(
    view: &View,
    path: &InstancePath,
    selection: &Selection,
    media: MediaType,
    parts: &Parts,
) -> Result<Size> {
    let format = media.format();
    if format == Format::Xml && is_whole_list(view.schema(), path) {
        check_single(view, path, selection)?;
    }
    let conditions = Conditions::of(&parts.headers);
    if !conditions.is_empty() {
        if !view.exists(path)? {
            return Err(missing(view.schema(), path));
        }
        let validators = Validators::of(&view.stamp(path)?);
        match conditions.on_read(&validators, format) {
            Verdict::Proceed => {}
            Verdict::Failed => return Err(Failure::precondition()),
            Verdict::NotModified => {
                let mut answer = status_only(StatusCode::NOT_MODIFIED);
                validators.write(answer.headers_mut(), format);
                return Ok(Size::Small(answer));
            }
        }
    }
    match codec::print(view, path, selection, format, Inline::default()) {
        Ok((Found::Something, Inline(bytes))) => {
            let mut answer = with_body(parts, media.header(), bytes);
            Validators::of(&view.stamp(path)?).write(answer.headers_mut(), format);
            Ok(Size::Small(answer))
        }
        Ok((Found::Nothing, _)) => Err(missing(view.schema(), path)),
        Err(AnswerError::Print(PrintError::Write(_))) => Ok(Size::Large),
        Err(AnswerError::Print(error)) => Err(Failure::internal(&error)),
        Err(AnswerError::Store(error)) => Err(error.into()),
    }
}

fn missing(schema: &Schema, path: &InstancePath) -> Failure {
    let name = path
        .target()
        .map(|node| schema.path(node))
        .unwrap_or_default();
    Failure::not_found(format!("there is no such instance of {name}"))
}

/// Prints into a streamed body; one that fails is left without its end.
fn stream(
    view: &View,
    path: &InstancePath,
    selection: &Selection,
    format: Format,
    writer: BodyWriter,
) {
    let ended = match codec::print(view, path, selection, format, writer) {
        Ok((_, writer)) => writer
            .end()
            .map_err(|e| AnswerError::Print(PrintError::Write(e))),
        Err(error) => Err(error),
    };
    match ended {
        Ok(()) => {}
        Err(AnswerError::Print(PrintError::Write(error))) => {
            tracing::debug!(%error, "a client left before its answer ended");
        }
        Err(AnswerError::Print(error)) => tracing::error!(%error, "an answer was broken off"),
        Err(AnswerError::Store(error)) => tracing::error!(%error, "an answer was broken off"),
    }
}

/// RFC 8040 §4.3: in XML, one entry of a list at most.
fn check_single(view: &View, path: &InstancePath, selection: &Selection) -> Result<()> {
    let page = selection.page.clone().unwrap_or(Page {
        after: None,
        offset: 0,
        limit: PAGE_ENTRIES_MAX,
    });
    let probe = Selection {
        depth: Some(1),
        page: Some(Page {
            limit: page.limit.min(2),
            ..page
        }),
        ..Selection::default()
    };
    let mut count = Count::default();
    view.read(path, &probe, &mut count)?;
    if count.entries > 1 {
        return Err(Failure::invalid(
            "an answer in XML has one entry of a list at most: name its keys, or accept JSON",
        ));
    }
    Ok(())
}

/// Counts topmost nodes.
#[derive(Default)]
struct Count {
    depth: usize,
    entries: usize,
}

impl Count {
    fn node(&mut self) {
        if self.depth == 0 {
            self.entries += 1;
        }
    }
}

impl Sink for Count {
    fn open(&mut self, _: NodeId, _: Mark) -> std::result::Result<(), Stop> {
        self.node();
        self.depth += 1;
        Ok(())
    }

    fn leaf(&mut self, _: NodeId, _: Value, _: Mark) -> std::result::Result<(), Stop> {
        self.node();
        Ok(())
    }

    fn any(&mut self, _: NodeId, _: &str, _: Mark) -> std::result::Result<(), Stop> {
        self.node();
        Ok(())
    }

    fn close(&mut self, _: Mark) -> std::result::Result<(), Stop> {
        self.depth -= 1;
        Ok(())
    }
}
