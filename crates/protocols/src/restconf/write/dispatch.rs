//! Turns a request into a job and runs it on a blocking thread.

use std::sync::Arc;

use axum::body::Body;
use espalier_store::Datastore;
use espalier_yang::data::Accept;
use http::request::Parts;
use http::{HeaderMap, Method};
use tokio::sync::{OwnedSemaphorePermit, SemaphorePermit};
use tokio::task::{JoinHandle, spawn_blocking};

use super::placement::Placement;
use super::queued_edit::{Finished, Write};
use super::write_request::{Job, Target, WriteResult};
use super::yang_patch::print_ok;
use crate::intake::{Held, Staged};
use crate::restconf::conditions::Conditions;
use crate::restconf::error::{Failure, Result};
use crate::restconf::limits::{LOAD_FROM_BYTES, QUEUED_BYTES_MAX};
use crate::restconf::media::{self, Format, MediaType};
use crate::restconf::query::{AllowedParameters, Query};
use crate::restconf::request_body;
use crate::restconf::request_identity::Who;
use crate::restconf::routes::{HttpResponse, with_body};
use crate::restconf::{Restconf, StateWrites};

/// Handles POST, PUT, PATCH or DELETE of a resource that supports it.
pub(in crate::restconf) async fn write(
    service: &Restconf,
    target: Target,
    parts: &Parts,
    body: &mut Body,
) -> Result<HttpResponse> {
    let job = job(service, target, parts)?;
    let limits = &service.config().limits;
    if parts.method == Method::DELETE {
        let result = edit(service, job, Format::Json, Held::default()).await?;
        return Ok(result.into_response(Format::Json));
    }
    media::check_encoding(&parts.headers)?;
    let patch_format = media::yang_patch_format(&parts.headers).filter(|_| job.is_yang_patch);
    let format = patch_format.map_or_else(|| media::content_format(&parts.headers), Ok)?;
    let accepted = patch_format.map(|_| status_media(&parts.headers));
    let accepted = accepted.transpose()?;
    job.check_placement()?;
    let result = if job.path().is_root() && !job.is_yang_patch {
        whole_datastore(service, job, format, parts, body).await?
    } else {
        let bytes_max = limits.edit_bytes_max as u64;
        let staged = request_body::receive(service, &parts.headers, body, bytes_max).await?;
        edit_staged(service, job, format, staged).await?
    };
    let patch = result.patch.clone().zip(accepted);
    let mut response = result.into_response(format);
    if let Some((names, media)) = patch {
        let status = with_body(
            &parts.method,
            media.header(),
            print_ok(&names, media.format()),
        );
        let (head, body) = status.into_parts();
        response.headers_mut().extend(head.headers);
        *response.body_mut() = body;
    }
    Ok(response)
}

/// The media type of the status of a patch: that of the patch, unless the client accepts only another one.
fn status_media(headers: &HeaderMap) -> Result<MediaType> {
    media::negotiate(headers)?;
    Ok(media::error_media(headers))
}

fn job(service: &Restconf, target: Target, parts: &Parts) -> Result<Job> {
    let allowed = match parts.method {
        Method::POST | Method::PUT => AllowedParameters::Placement,
        _ => AllowedParameters::None,
    };
    let limit = service.config().limits.query_bytes_max;
    let query = Query::parse(parts.uri.query(), allowed, limit)?;
    let who = Who::of(&parts.headers)?;
    Ok(Job {
        wrapping: media::wrapping(&parts.headers),
        placement: Placement::of(&query, target.of.schema())?,
        is_yang_patch: parts.method == Method::PATCH
            && media::yang_patch_format(&parts.headers).is_some(),
        method: parts.method.clone(),
        conditions: Conditions::of(&parts.headers),
        accept: match service.config().state_writes {
            StateWrites::Refused => Accept::Config,
            StateWrites::Allowed => Accept::All,
        },
        author: match &who.author {
            Some(author) => author.clone(),
            None => service.config().author.clone(),
        },
        who,
        target,
    })
}

/// A body for the whole datastore: applied as an edit if small, loaded if large.
async fn whole_datastore(
    service: &Restconf,
    job: Job,
    format: Format,
    parts: &Parts,
    body: &mut Body,
) -> Result<WriteResult> {
    let limits = &service.config().limits;
    let bytes_max = limits.load_bytes_max;
    let staged = request_body::receive(service, &parts.headers, body, bytes_max).await?;
    let edit_max = match job.method {
        // An edit if possible, because it may contain operations.
        Method::PATCH => limits.edit_bytes_max.max(LOAD_FROM_BYTES),
        // Likewise with a position.
        _ if job.placement.is_some() => limits.edit_bytes_max.max(LOAD_FROM_BYTES),
        _ => LOAD_FROM_BYTES,
    };
    if staged.length() <= edit_max as u64 {
        return edit_staged(service, job, format, staged).await;
    }
    // A load cannot place an entry.
    if job.placement.is_some() {
        return Err(Failure::too_big(edit_max as u64));
    }
    let permit = permit(service).await?;
    finish(spawn_blocking(move || {
        run_with_permit(permit, || {
            let reader = staged.into_reader();
            let reader = reader.map_err(|error| Failure::internal(&error))?;
            job.load(format, reader)
        })
    }))
    .await
}

async fn edit_staged(
    service: &Restconf,
    job: Job,
    format: Format,
    staged: Staged,
) -> Result<WriteResult> {
    let held = service.config().intake.hold(staged).await?;
    edit(service, job, format, held).await
}

/// Makes one change. A small one shares a write with others, if that is possible.
async fn edit(service: &Restconf, job: Job, format: Format, body: Held) -> Result<WriteResult> {
    let is_small = body.bytes().len() <= QUEUED_BYTES_MAX;
    let write = Box::new(Write { job, format, body });
    let write = match is_small && write.job.target.of.datastore() == Datastore::Running {
        true => {
            let place = place(service)?;
            let finished = write.queued(&service.edit_queue).await?;
            drop(place);
            match finished {
                Finished::Done(result) => return result,
                Finished::Alone(write) => write,
            }
        }
        false => write,
    };
    let permit = permit(service).await?;
    finish(spawn_blocking(move || {
        run_with_permit(permit, || write.run())
    }))
    .await
}

/// Waits for its turn: first come, first served.
async fn permit(service: &Restconf) -> Result<OwnedSemaphorePermit> {
    let writes = Arc::clone(&service.server.writes);
    if let Ok(permit) = Arc::clone(&writes).try_acquire_owned() {
        return Ok(permit);
    }
    let _waiting = waiting(service)?;
    let permit = writes.acquire_owned().await;
    permit.map_err(|error| Failure::internal(&error))
}

/// A place among the writes that are made, or among those that wait; fails if there is none.
fn place(service: &Restconf) -> Result<SemaphorePermit<'_>> {
    match service.server.writes.try_acquire() {
        Ok(place) => Ok(place),
        Err(_) => waiting(service),
    }
}

/// A place among the writes that wait; fails if there is none.
fn waiting(service: &Restconf) -> Result<SemaphorePermit<'_>> {
    service.server.waiting_writes.try_acquire().map_err(|_| {
        Failure::busy(format!(
            "{} writes wait (writes_waiting_max); try again later",
            service.config().limits.writes_waiting_max
        ))
    })
}

/// Keeps the permit until the work ends, even if the request was cancelled.
fn run_with_permit(
    permit: OwnedSemaphorePermit,
    work: impl FnOnce() -> Result<WriteResult>,
) -> Result<WriteResult> {
    let result = work();
    drop(permit);
    result
}

async fn finish(work: JoinHandle<Result<WriteResult>>) -> Result<WriteResult> {
    work.await.map_err(|error| Failure::internal(&error))?
}
