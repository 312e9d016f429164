//! One edit, judged by the store and by libyang.

use std::fmt::Write;

use espalier_store::{Edit, Error, Tree};
use espalier_testkit::oracle::judge::{Problem, Verdict};
use espalier_yang::data::{DataTree, TreeInstances};
use espalier_yang::validate::{Share, validate};
use espalier_yang::xpath::evaluate::Limits;
use espalier_yang::{Errors, Instances, Schema};

use crate::edit::{Change, apply};
use crate::setting::{Setting, commit, parse, read_all, show, unvalidated};

/// An edit, the tree before, and what libyang says.
pub struct Trial {
    pub before: DataTree,
    pub changes: Vec<Change>,
    /// None where the edit contradicts the tree, whatever the constraints.
    pub verdict: Option<Verdict>,
}

/// How a comparison went well.
#[derive(Debug)]
pub enum Agreement {
    /// Both accept: the tree after.
    Accepted(DataTree),
    /// Both refuse; whether the store names what libyang names.
    Refused(Naming),
    /// The edit contradicts the tree.
    Impossible,
}

/// Whether the store's errors have the one that libyang reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// Node and `error-app-tag`.
    Same,
    /// Only the node, or one around it.
    SameNode,
    /// Neither.
    Other,
}

impl Trial {
    /// Asks libyang about changes of a tree.
    pub fn new(setting: &Setting, before: DataTree, changes: Vec<Change>) -> Self {
        let schema = &setting.schema;
        let mut result = before.clone();
        let verdict = apply(schema, &mut result, &changes).ok().map(|()| {
            let (old, new) = (show(schema, &before), show(schema, &result));
            setting.judge.verdict(&old, &new)
        });
        Self {
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

    /// Validates the whole tree after the changes and compares; or what is different.
    pub fn compare_full(&self, setting: &Setting) -> Result<Agreement, String> {
        let Some(verdict) = &self.verdict else {
            return Ok(Agreement::Impossible);
        };
        let after = parse(&setting.schema, &verdict.tree);
        let errors = full_validation(setting, &after);
        match (&verdict.problem, errors.is_empty()) {
            (None, true) => Ok(Agreement::Accepted(after)),
            (None, false) => Err(format!("full validation refuses: {errors}")),
            (Some(problem), true) => Err(format!(
                "full validation accepts; libyang refuses: {problem}"
            )),
            (Some(problem), false) => Ok(Agreement::Refused(naming(problem, &errors))),
        }
    }

    /// Commits the changes and compares; or what is different.
    pub fn compare(&self, setting: &Setting, tree: &Tree) -> Result<Agreement, String> {
        let edits: Vec<Edit> = self.changes.iter().map(Change::to_edit).collect();
        let ours = match commit(tree, &edits) {
            Ok(_) => Ok(()),
            Err(Error::Data(errors)) => Err(errors),
            Err(error) => return Err(format!("the commit failed: {error}")),
        };
        let after = read_all(tree);
        match (ours, &self.verdict) {
            (Ok(()), None) => Err("accepted, but it contradicts the tree".to_owned()),
            (Ok(()), Some(verdict)) => self.compare_accepted(setting, tree, verdict, after),
            (Err(errors), verdict) => {
                if !after.same_as(&self.before, &setting.schema) {
                    let after = show(&setting.schema, &after);
                    return Err(format!("refused, but the tree changed to {after}"));
                }
                match verdict {
                    None => Ok(Agreement::Impossible),
                    Some(verdict) => compare_refused(verdict, &errors),
                }
            }
        }
    }

    /// Puts the tree after the changes, whatever it is, where nothing is validated, and validates
    /// it there; examines the store; or what is different.
    pub fn compare_stored(&self, setting: &Setting, tree: &Tree) -> Result<(), String> {
        let Some(verdict) = &self.verdict else {
            return Ok(());
        };
        let after = parse(&setting.schema, &verdict.tree);
        let startup = unvalidated(tree);
        commit(&startup, &[Edit::replace_all(after)])
            .map_err(|error| format!("startup refuses: {error}"))?;
        let found = tree.store().check(&mut |_| {}).unwrap();
        if !found.is_empty() {
            return Err(format!("the store is not sound: {found:?}"));
        }
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
        setting: &Setting,
        tree: &Tree,
        verdict: &Verdict,
        after: DataTree,
    ) -> Result<Agreement, String> {
        if let Some(problem) = &verdict.problem {
            return Err(format!("accepted; libyang refuses: {problem}"));
        }
        let expected = parse(&setting.schema, &verdict.tree);
        if !after.same_as(&expected, &setting.schema) {
            let after = show(&setting.schema, &after);
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

    /// Everything that is needed to see what is wrong.
    pub fn describe(&self, setting: &Setting) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "{}", setting.text());
        let _ = writeln!(text, "before  {}", show(&setting.schema, &self.before));
        for change in &self.changes {
            let _ = writeln!(text, "change  {}", describe(&setting.schema, change));
        }
        match &self.verdict {
            None => text.push_str("libyang was not asked\n"),
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

/// All constraints on all of a datastore: what is violated.
fn whole(tree: &Tree) -> Result<Option<Errors>, String> {
    match tree.view().unwrap().validate() {
        Ok(()) => Ok(None),
        Err(Error::Data(errors)) => Ok(Some(errors)),
        Err(error) => Err(format!("the validation failed: {error}")),
    }
}

/// All constraints on all of a tree, without a store.
fn full_validation(setting: &Setting, tree: &DataTree) -> Errors {
    let data = TreeInstances::new(&setting.schema, tree);
    let limits = Limits::default();
    let result = validate(&setting.plan, &data, &data.root(), limits, Share::ALL);
    result.unwrap_or_else(Errors::from)
}

fn compare_refused(verdict: &Verdict, errors: &Errors) -> Result<Agreement, String> {
    match &verdict.problem {
        Some(problem) => Ok(Agreement::Refused(naming(problem, errors))),
        None if verdict.is_disputed => Ok(Agreement::Refused(Naming::Other)),
        None => Err(format!(
            "refused: {errors}\nlibyang accepts, with {}",
            verdict.tree
        )),
    }
}

fn naming(problem: &Problem, errors: &Errors) -> Naming {
    let mut naming = Naming::Other;
    for error in errors.iter() {
        let is_there = error.path == problem.path
            || error.path.starts_with(&format!("{}/", problem.path))
            || problem.path.starts_with(&format!("{}[", error.path))
            || problem.path.is_empty();
        if is_there {
            let has_tag = error.app_tag.as_deref() == problem.app_tag.as_deref();
            naming = if has_tag {
                Naming::Same
            } else {
                Naming::SameNode
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
