//! What a request that writes is about.

use std::time::SystemTime;

use espalier_store::{Commit, Tree};
use espalier_yang::data::{Accept, Wrapping};
use espalier_yang::{InstancePath, Schema};
use http::header::LOCATION;
use http::{HeaderValue, Method, StatusCode};

use super::placement::Placement;
use crate::restconf::conditions::{Conditions, Validators};
use crate::restconf::error::Result;
use crate::restconf::media::Format;
use crate::restconf::routes::{Answer, status_only};
use crate::restconf::who::Who;

/// The resource that is written.
pub(in crate::restconf) struct Target {
    pub(in crate::restconf) tree: Tree,
    pub(in crate::restconf) path: InstancePath,
    /// The URL of the datastore.
    pub(in crate::restconf) location_base: String,
}

/// A request that writes, without its body: everything that a blocking thread needs.
pub(super) struct Job {
    pub(super) method: Method,
    pub(super) target: Target,
    pub(super) conditions: Conditions,
    pub(super) placement: Option<Placement>,
    /// How the body is wrapped, where it is for a whole datastore.
    pub(super) wrapping: Wrapping,
    pub(super) accept: Accept,
    pub(super) author: String,
    pub(super) who: Who,
}

impl Job {
    pub(super) fn schema(&self) -> &Schema {
        self.target.tree.schema()
    }

    pub(super) fn path(&self) -> &InstancePath {
        &self.target.path
    }
}

/// A request that was carried out.
pub(super) struct Done {
    pub(super) status: StatusCode,
    validators: Validators,
    location: Option<String>,
}

impl Done {
    /// After a commit that changed, or found unchanged, the resource at `path`.
    pub(super) fn new(
        job: &Job,
        status: StatusCode,
        path: &InstancePath,
        commit: &Commit,
    ) -> Result<Self> {
        let validators = match commit.is_changed {
            true => Validators::new(commit.version, commit.time),
            false => Validators::of(&job.target.tree.view()?.stamp(path)?),
        };
        let location = match status {
            // An entry of a list without keys has no URL.
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
        })
    }

    /// The answer; the entity tag is that of the format which the request was in.
    pub(super) fn answer(self, format: Format) -> Answer {
        let mut answer = status_only(self.status);
        let headers = answer.headers_mut();
        self.validators.write(headers, format);
        if let Some(location) = self.location
            && let Ok(location) = HeaderValue::try_from(location)
        {
            headers.insert(LOCATION, location);
        }
        answer
    }

    /// The answer without validators, of a resource that is gone.
    pub(super) fn gone() -> Self {
        Self {
            status: StatusCode::NO_CONTENT,
            validators: Validators::fixed("", SystemTime::UNIX_EPOCH),
            location: None,
        }
    }
}
