//! What a call does, for the audit log.

use espalier_store::{
    Commit, Conflict, Edit, EditReport, Error, LoadReport, Reported, UpgradeReport,
};
use espalier_yang::{ErrorTag, InstancePath, Schema};

use crate::audit::{AuditEntry, AuditOperation, AuditResult};

/// A read that names no resource.
pub(crate) const READ: Call<'static> = Call {
    operation: AuditOperation::Read,
    resources: Resources::Datastore,
};

/// A call of an operation.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(super) operation: AuditOperation,
    resources: Resources<'a>,
}

/// The resources of a call.
#[derive(Clone, Copy)]
enum Resources<'a> {
    /// The whole datastore.
    Datastore,
    /// Those of edits.
    Edits(&'a [Edit]),
    /// Instances.
    Paths(&'a [InstancePath]),
}

impl<'a> Call<'a> {
    /// A call that concerns the whole datastore.
    pub fn new(operation: AuditOperation) -> Self {
        Self {
            operation,
            resources: Resources::Datastore,
        }
    }

    /// A call that applies edits.
    pub fn edit(edits: &'a [Edit]) -> Self {
        Self {
            operation: AuditOperation::Edit,
            resources: Resources::Edits(edits),
        }
    }

    /// A call that concerns instances.
    pub fn on(operation: AuditOperation, paths: &'a [InstancePath]) -> Self {
        Self {
            operation,
            resources: Resources::Paths(paths),
        }
    }

    /// The entry of a call that succeeded.
    pub fn entry(&self, schema: &Schema) -> AuditEntry {
        let mut entry = AuditEntry::new(self.operation);
        let mut add = |path: &InstancePath| entry.add_path(|| path.to_instance_identifier(schema));
        match self.resources {
            Resources::Datastore => {}
            Resources::Edits(edits) => {
                for edit in edits {
                    edit.each_resource(schema, &mut |path| add(&path));
                }
            }
            Resources::Paths(paths) => paths.iter().for_each(add),
        }
        entry
    }

    /// The entry of a call that failed. Without resources of its own, it has the places of the errors.
    pub fn failed_entry(&self, schema: &Schema, error: &Error) -> AuditEntry {
        let mut entry = self.entry(schema);
        let Reported { errors, .. } = Reported::from(error);
        let Some(first) = errors.iter().next() else {
            return entry;
        };
        entry.result = AuditResult::Error(first.tag.as_str().to_owned());
        // The messages of others may quote values.
        if first.tag == ErrorTag::AccessDenied || !matches!(error, Error::Data(_)) {
            entry.message.clone_from(&first.message);
        }
        if entry.paths.is_empty() {
            let places = errors.iter().map(|error| &error.path);
            for path in places.filter(|path| !path.is_empty()) {
                entry.add_path(|| path.clone());
            }
        }
        entry
    }
}

/// The result of a change.
pub(crate) trait Outcome {
    /// The version that it made.
    fn version(&self) -> Option<u64> {
        None
    }
}

impl Outcome for () {}

impl Outcome for Vec<Conflict> {}

impl Outcome for UpgradeReport {}

impl Outcome for Commit {
    fn version(&self) -> Option<u64> {
        self.is_changed.then_some(self.version)
    }
}

impl Outcome for LoadReport {
    fn version(&self) -> Option<u64> {
        self.commit.version()
    }
}

impl Outcome for EditReport {
    fn version(&self) -> Option<u64> {
        self.commit.as_ref().and_then(Outcome::version)
    }
}
