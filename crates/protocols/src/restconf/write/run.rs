//! Turns a request into a job and runs it on a blocking thread.

use std::sync::Arc;

use axum::body::Body;
use espalier_yang::data::Accept;
use http::Method;
use http::request::Parts;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::{JoinHandle, spawn_blocking};

use super::job::{Done, Job, Target};
use super::placement::Placement;
use crate::intake::Staged;
use crate::restconf::conditions::Conditions;
use crate::restconf::error::{Failure, Result};
use crate::restconf::limits::LOAD_FROM_BYTES;
use crate::restconf::media::{self, Format};
use crate::restconf::query::{Allowed, Query};
use crate::restconf::request_body;
use crate::restconf::routes::{Answer, status_only};
use crate::restconf::who::Who;
use crate::restconf::{Restconf, StateWrites};

/// Handles POST, PUT, PATCH or DELETE of a resource that supports it.
pub(in crate::restconf) async fn write(
    service: &Restconf,
    target: Target,
    parts: &Parts,
    body: &mut Body,
) -> Result<Answer> {
    let job = job(service, target, parts)?;
    let limits = &service.config.limits;
    if parts.method == Method::DELETE {
        let permit = permit(service).await?;
        let done = finish(spawn_blocking(move || run(permit, || job.delete()))).await?;
        return Ok(status_only(done.status));
    }
    media::check_encoding(&parts.headers)?;
    let format = media::content(&parts.headers)?;
    job.check_placement()?;
    let done = if job.path().is_root() {
        whole_datastore(service, job, format, parts, body).await?
    } else {
        let bytes_max = limits.edit_bytes_max as u64;
        let staged = request_body::staged(service, &parts.headers, body, bytes_max).await?;
        edit_staged(service, job, format, staged).await?
    };
    Ok(done.answer(format))
}

fn job(service: &Restconf, target: Target, parts: &Parts) -> Result<Job> {
    let allowed = match parts.method {
        Method::POST | Method::PUT => Allowed::Placing,
        _ => Allowed::Nothing,
    };
    let limit = service.config.limits.query_bytes_max;
    let query = Query::parse(parts.uri.query(), allowed, limit)?;
    let who = Who::of(&parts.headers)?;
    Ok(Job {
        wrapping: media::wrapping(&parts.headers),
        placement: Placement::of(&query, target.tree.schema())?,
        method: parts.method.clone(),
        conditions: Conditions::of(&parts.headers),
        accept: match service.config.state_writes {
            StateWrites::Refused => Accept::Config,
            StateWrites::Allowed => Accept::All,
        },
        author: match &who.author {
            Some(author) => author.clone(),
            None => service.config.author.clone(),
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
) -> Result<Done> {
    let limits = &service.config.limits;
    let bytes_max = limits.load_bytes_max;
    let staged = request_body::staged(service, &parts.headers, body, bytes_max).await?;
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
        run(permit, || {
            let reader = staged.into_reader();
            let reader = reader.map_err(|error| Failure::internal(&error))?;
            job.load(format, reader)
        })
    }))
    .await
}

async fn edit_staged(service: &Restconf, job: Job, format: Format, staged: Staged) -> Result<Done> {
    let held = service.config.intake.hold(staged).await?;
    let permit = permit(service).await?;
    finish(spawn_blocking(move || {
        run(permit, || edit(&job, format, held.bytes()))
    }))
    .await
}

fn edit(job: &Job, format: Format, body: &[u8]) -> Result<Done> {
    match job.method {
        Method::POST => job.post(format, body),
        Method::PUT => job.put(format, body),
        _ => job.patch(format, body),
    }
}

async fn permit(service: &Restconf) -> Result<OwnedSemaphorePermit> {
    let permit = Arc::clone(&service.writes).acquire_owned().await;
    permit.map_err(|error| Failure::internal(&error))
}

/// Keeps the permit until the work ends, even if the request was cancelled.
fn run(permit: OwnedSemaphorePermit, work: impl FnOnce() -> Result<Done>) -> Result<Done> {
    let done = work();
    drop(permit);
    done
}

async fn finish(work: JoinHandle<Result<Done>>) -> Result<Done> {
    work.await.map_err(|error| Failure::internal(&error))?
}
