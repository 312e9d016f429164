//! A request that writes, and its result.

use espalier_service::SessionDatastore;
use espalier_store::Commit;
use espalier_yang::data::{Accept, Wrapping};
use espalier_yang::{InstancePath, Schema};
use http::header::LOCATION;
use http::{HeaderValue, Method, StatusCode};

use super::placement::Placement;
use super::yang_patch::PatchNames;
use crate::restconf::conditions::{Conditions, Validators};
use crate::restconf::error::Result;
use crate::restconf::media::Format;
use crate::restconf::request_identity::Who;
use crate::restconf::routes::{HttpResponse, status_only};

/// The response header with the version of the datastore after a write.
pub const VERSION_HEADER: &str = "espalier-version";

/// The response header that says whether a write changed anything: `true` or `false`.
pub const CHANGED_HEADER: &str = "espalier-changed";

/// The resource to write.
pub(in crate::restconf) struct Target {
    pub(in crate::restconf) of: SessionDatastore,
    pub(in crate::restconf) path: InstancePath,
    /// The URL of the datastore.
    pub(in crate::restconf) location_base: String,
}

/// A request that writes, without its body: everything that a blocking thread needs.
pub(super) struct Job {
    pub(super) method: Method,
    /// Whether the body of a PATCH is a YANG Patch (RFC 8072).
    pub(super) is_yang_patch: bool,
    pub(super) target: Target,
    pub(super) conditions: Conditions,
    pub(super) placement: Option<Placement>,
    /// The accepted wrapping of the body, if it is for a whole datastore.
    pub(super) wrapping: Wrapping,
    pub(super) accept: Accept,
    pub(super) author: String,
    pub(super) who: Who,
}

impl Job {
    pub(super) fn schema(&self) -> &Schema {
        self.target.of.schema()
    }

    pub(super) fn path(&self) -> &InstancePath {
        &self.target.path
    }
}

/// The result of a successful request.
pub(super) struct WriteResult {
    pub(super) status: StatusCode,
    validators: Option<Validators>,
    location: Option<String>,
    commit: Commit,
    /// The patch that was applied.
    pub(super) patch: Option<PatchNames>,
}

impl WriteResult {
    /// The result of a commit that changed the resource at `path` or left it unchanged.
    pub(super) fn new(
        job: &Job,
        status: StatusCode,
        path: &InstancePath,
        commit: &Commit,
    ) -> Result<Self> {
        let validators = match commit.is_changed {
            true => Some(Validators::new(commit.version, commit.time)),
            false => Validators::of_resource(&job.target.of.view()?, path)?,
        };
        let location = match status {
            // An entry of a keyless list has no URL.
            StatusCode::CREATED => path.to_api_path(job.schema()),
            _ => None,
        };
        let location = location.map(|below| match below.as_str() {
            "" => job.target.location_base.clone(),
            below => format!("{}/{below}", job.target.location_base),
        });
        Ok(Self {
            status,
            validators,
            location,
            commit: *commit,
            patch: None,
        })
    }

    /// The response; the format of the entity tag is the one of the request.
    pub(super) fn into_response(self, format: Format) -> HttpResponse {
        let mut response = status_only(self.status);
        let headers = response.headers_mut();
        headers.insert(VERSION_HEADER, HeaderValue::from(self.commit.version));
        let is_changed = match self.commit.is_changed {
            true => "true",
            false => "false",
        };
        headers.insert(CHANGED_HEADER, HeaderValue::from_static(is_changed));
        if let Some(validators) = self.validators {
            validators.write(headers, format);
        }
        if let Some(location) = self.location
            && let Ok(location) = HeaderValue::try_from(location)
        {
            headers.insert(LOCATION, location);
        }
        response
    }

    /// The same, of a patch.
    pub(super) fn of_patch(self, names: PatchNames) -> Self {
        Self {
            patch: Some(names),
            ..self
        }
    }

    /// The result of a deletion, without validators.
    pub(super) fn deleted(commit: &Commit) -> Self {
        Self {
            status: StatusCode::NO_CONTENT,
            validators: None,
            location: None,
            commit: *commit,
            patch: None,
        }
    }
}
