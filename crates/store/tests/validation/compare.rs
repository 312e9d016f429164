//! One edit, with the verdicts of the store and of libyang.

use std::fmt::Write;

use espalier_store::{CommitOptions, Datastore, Edit, Error, Tree};
use espalier_testkit::oracle::judge::{Problem, Verdict};
use espalier_yang::data::{DataTree, TreeInstances};
use espalier_yang::validate::{WorkerShare, validate};
use espalier_yang::xpath::evaluate::Limits;
use espalier_yang::{Errors, Instances, Schema};

use crate::edit::{Change, apply};
use crate::fixture::{Fixture, commit, load, parse, read_all, show, unvalidated};

/// How an edit is applied to running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitMethod {
    /// As a commit.
    Commit,
    /// As changes of the candidate, which is validated and committed.
    Candidate,
    /// As a load if it replaces everything with a document; otherwise as a commit.
    Load,
}

/// An edit, the tree before it, and libyang's verdict.
pub struct Trial {
    pub method: CommitMethod,
    pub before: DataTree,
    pub changes: Vec<Change>,
    /// `None` if the edit contradicts the tree, independently of the constraints.
    pub verdict: Option<Verdict>,
}

/// The agreement in a successful comparison.
#[derive(Debug)]
pub enum Agreement {
    /// Both accept: the tree after the edit.
    Accepted(DataTree),
    /// Both reject; whether the store names the node that libyang names.
    Refused(ErrorMatch),
    /// The edit contradicts the tree.
    Impossible,
}

/// Whether the store's errors have the one that libyang reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorMatch {
    /// Node and `error-app-tag`.
    Same,
    /// Only the node, or an ancestor.
    SameNode,
    /// Neither.
    Other,
}

impl Trial {
    /// Gets libyang's verdict on changes of a tree.
    pub fn new(
        fixture: &Fixture,
        before: DataTree,
        changes: Vec<Change>,
        method: CommitMethod,
    ) -> Self {
        let schema = &fixture.schema;
        let is_load = method == CommitMethod::Load && matches!(&*changes, [Change::ReplaceAll(_)]);
        let method = match method {
            CommitMethod::Load if !is_load => CommitMethod::Commit,
            method => method,
        };
        let mut result = before.clone();
        let verdict = apply(schema, &mut result, &changes).ok().map(|()| {
            // A load creates all of its data.
            let old = match is_load {
                true => "{}".to_owned(),
                false => show(schema, &before),
            };
            fixture.judge.verdict(&old, &show(schema, &result))
        });
        Self {
            method,
            before,
            changes,
            verdict,
        }
    }

    /// Whether libyang accepts it.
    pub fn is_valid(&self) -> bool {
        self.verdict
            .as_ref()
            .is_some_and(|verdict| verdict.problem.is_none())
    }

    /// Validates the whole tree after the changes and compares; on failure, returns the difference.
    pub fn compare_full(&self, fixture: &Fixture) -> Result<Agreement, String> {
        let Some(verdict) = &self.verdict else {
            return Ok(Agreement::Impossible);
        };
        let after = parse(&fixture.schema, &verdict.tree);
        let errors = full_validation(fixture, &after);
        match (&verdict.problem, errors.is_empty()) {
            (None, true) => Ok(Agreement::Accepted(after)),
            (None, false) => Err(format!("full validation refuses: {errors}")),
            (Some(problem), true) => Err(format!(
                "full validation accepts; libyang refuses: {problem}"
            )),
            (Some(problem), false) => Ok(Agreement::Refused(naming(problem, &errors))),
        }
    }

    /// Commits the changes and compares; on failure, returns the difference.
    pub fn compare(&self, fixture: &Fixture, tree: &Tree) -> Result<Agreement, String> {
        let ours = self.carry_out(tree)?;
        let after = read_all(tree);
        match (ours, &self.verdict) {
            (Ok(()), None) => Err("accepted, but it contradicts the tree".to_owned()),
            (Ok(()), Some(verdict)) => self.compare_accepted(fixture, tree, verdict, after),
            (Err(errors), verdict) => {
                if !after.is_equivalent(&self.before, &fixture.schema) {
                    let after = show(&fixture.schema, &after);
                    return Err(format!("refused, but the tree changed to {after}"));
                }
                match verdict {
                    None => Ok(Agreement::Impossible),
                    Some(verdict) => compare_refused(verdict, &errors),
                }
            }
        }
    }

    /// Applies the edit in its way: accepted, or rejected with these errors.
    fn carry_out(&self, tree: &Tree) -> Result<Result<(), Errors>, String> {
        let edits: Vec<Edit> = self.changes.iter().map(Change::to_edit).collect();
        match (self.method, &*self.changes) {
            (CommitMethod::Candidate, _) => through_candidate(tree, &edits),
            (CommitMethod::Load, [Change::ReplaceAll(document)]) => refusal(load(tree, document)),
            _ => refusal(commit(tree, &edits)),
        }
    }

    /// Stores the tree after the changes, valid or not, in a datastore without validation, validates it
    /// there, and checks the store; on failure, returns the difference.
    pub fn compare_stored(&self, fixture: &Fixture, tree: &Tree) -> Result<(), String> {
        let Some(verdict) = &self.verdict else {
            return Ok(());
        };
        let after = parse(&fixture.schema, &verdict.tree);
        let startup = unvalidated(tree);
        commit(&startup, &[Edit::replace_all(after)])
            .map_err(|error| format!("startup refuses: {error}"))?;
        check_store(tree)?;
        match (whole(&startup)?, &verdict.problem) {
            (None, Some(problem)) => Err(format!(
                "validation of startup accepts; libyang refuses: {problem}"
            )),
            (Some(errors), None) => Err(format!("validation of startup refuses: {errors}")),
            _ => Ok(()),
        }
    }

    fn compare_accepted(
        &self,
        fixture: &Fixture,
        tree: &Tree,
        verdict: &Verdict,
        after: DataTree,
    ) -> Result<Agreement, String> {
        if let Some(problem) = &verdict.problem {
            return Err(format!("accepted; libyang refuses: {problem}"));
        }
        let expected = parse(&fixture.schema, &verdict.tree);
        if !after.is_equivalent(&expected, &fixture.schema) {
            let after = show(&fixture.schema, &after);
            return Err(format!(
                "the tree is {after}\nand should be {}",
                verdict.tree
            ));
        }
        match whole(tree)? {
            Some(errors) => Err(format!(
                "validation of the committed tree refuses: {errors}"
            )),
            None => Ok(Agreement::Accepted(after)),
        }
    }

    /// Everything that is needed to find the cause.
    pub fn describe(&self, fixture: &Fixture) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "{}", fixture.text());
        let _ = writeln!(text, "way     {:?}", self.method);
        let _ = writeln!(text, "before  {}", show(&fixture.schema, &self.before));
        for change in &self.changes {
            let _ = writeln!(text, "change  {}", describe(&fixture.schema, change));
        }
        match &self.verdict {
            None => text.push_str("libyang gave no verdict\n"),
            Some(verdict) => {
                let _ = writeln!(text, "after   {}", verdict.tree);
                match &verdict.problem {
                    Some(problem) => drop(writeln!(text, "libyang refuses: {problem}")),
                    None => text.push_str("libyang accepts\n"),
                }
            }
        }
        text
    }
}

/// The errors in the data; or another failure.
fn refusal<T>(result: Result<T, Error>) -> Result<Result<(), Errors>, String> {
    match result {
        Ok(_) => Ok(Ok(())),
        Err(Error::Data(errors)) => Ok(Err(errors)),
        Err(error) => Err(format!("the commit failed: {error}")),
    }
}

/// Edits the candidate, validates it and commits it.
fn through_candidate(tree: &Tree, edits: &[Edit]) -> Result<Result<(), Errors>, String> {
    let candidate = tree.sibling_datastore(Datastore::Candidate, "").unwrap();
    if let Err(errors) = refusal(commit(&candidate, edits))? {
        return Ok(Err(errors));
    }
    let validated = refusal(candidate.validate())?;
    let committed = refusal(candidate.commit_candidate(CommitOptions::default()))?;
    if committed.is_err() {
        refusal(candidate.discard(CommitOptions::default()))?.map_err(|error| error.to_string())?;
    }
    match validated.is_ok() == committed.is_ok() {
        true => Ok(committed),
        false => Err(format!(
            "candidate validates: {validated:?}, commits: {committed:?}"
        )),
    }
}

/// Validates all constraints on a whole datastore; returns the violations.
pub fn whole(tree: &Tree) -> Result<Option<Errors>, String> {
    match tree.view().unwrap().validate() {
        Ok(()) => Ok(None),
        Err(Error::Data(errors)) => Ok(Some(errors)),
        Err(error) => Err(format!("the validation failed: {error}")),
    }
}

/// Validates all constraints on a tree, without a store.
fn full_validation(fixture: &Fixture, tree: &DataTree) -> Errors {
    let data = TreeInstances::new(&fixture.schema, tree);
    let limits = Limits::default();
    let result = validate(&fixture.plan, &data, &data.root(), limits, WorkerShare::ALL);
    result.unwrap_or_else(Errors::from)
}

fn compare_refused(verdict: &Verdict, errors: &Errors) -> Result<Agreement, String> {
    match &verdict.problem {
        Some(problem) => Ok(Agreement::Refused(naming(problem, errors))),
        None if verdict.is_disputed => Ok(Agreement::Refused(ErrorMatch::Other)),
        None => Err(format!(
            "refused: {errors}\nlibyang accepts, with {}",
            verdict.tree
        )),
    }
}

fn naming(problem: &Problem, errors: &Errors) -> ErrorMatch {
    let mut naming = ErrorMatch::Other;
    for error in errors.iter() {
        let is_there = error.path == problem.path
            || error.path.starts_with(&format!("{}/", problem.path))
            || problem.path.starts_with(&format!("{}[", error.path))
            || problem.path.is_empty();
        if is_there {
            let has_tag = error.app_tag.as_deref() == problem.app_tag.as_deref();
            naming = if has_tag {
                ErrorMatch::Same
            } else {
                ErrorMatch::SameNode
            };
            if has_tag {
                break;
            }
        }
    }
    naming
}

fn describe(schema: &Schema, change: &Change) -> String {
    match change {
        Change::Tree(at, tree, operation) => {
            let at = at.to_instance_identifier(schema);
            format!("{operation:?} at {at:?}: {}", brief(schema, &tree.nodes))
        }
        Change::Delete(at) => format!("Delete {}", at.to_instance_identifier(schema)),
        Change::Remove(at) => format!("Remove {}", at.to_instance_identifier(schema)),
        Change::ReplaceAll(tree) => format!("ReplaceAll {}", show(schema, tree)),
    }
}

/// Nodes with their annotations.
fn brief(schema: &Schema, nodes: &[espalier_yang::data::DataNode]) -> String {
    use espalier_yang::data::Content;
    let one = |data: &espalier_yang::data::DataNode| {
        let name = &schema.node(data.node).name;
        let notes = match data.annotations.is_empty() {
            true => String::new(),
            false => format!("@{:?}", data.annotations),
        };
        match &data.content {
            Content::Inner(children) => format!("{name}{notes}{{{}}}", brief(schema, children)),
            Content::Value(value) => format!("{name}{notes}={value}"),
            other => format!("{name}{notes}={other:?}"),
        }
    };
    nodes.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Checks all rows of a store: its indexes, sums and counts agree with the data.
pub fn check_store(tree: &Tree) -> Result<(), String> {
    let found = tree.store().check(&mut |_| {}).unwrap();
    match found.is_empty() {
        true => Ok(()),
        false => Err(format!("the store is not sound: {found:?}")),
    }
}
