//! The commits that a user can know of.

use std::sync::Arc;

use espalier_yang::Schema;

use super::commits::{CommitInfo, HISTORY_PAGE_MAX, KeptVersions, SchemaScope, below};
use super::read_log::header;
use super::rewind::{RewindTarget, changes_between, rewind};
use crate::error::{Error, Result};
use crate::overlay::Overlay;
use crate::tree::changes::{NewerState, NodeChange, each_node_change};
use crate::tree::tree::Tree;

/// Maximum number of changes of a commit that are examined for [`Tree::visible_history`].
pub const HISTORY_CHANGES_EXAMINED_MAX: usize = 100_000;

/// Decides whether a user can see a change.
pub type IsVisible<'a> = &'a mut dyn FnMut(&Arc<Schema>, &NodeChange) -> Result<bool>;

/// How much of a commit is visible.
#[derive(Clone, Copy, Debug, Default)]
struct Visibility {
    examined: usize,
    some: bool,
    hidden: bool,
}

impl Visibility {
    fn add(&mut self, is_visible: bool) {
        self.examined += 1;
        // A change that is not examined is not known to be visible.
        let is_last = self.examined == HISTORY_CHANGES_EXAMINED_MAX;
        self.some |= is_visible;
        self.hidden |= !is_visible || is_last;
    }

    /// Whether the other changes decide nothing.
    fn is_decided(&self) -> bool {
        (self.some && self.hidden) || self.examined == HISTORY_CHANGES_EXAMINED_MAX
    }
}

impl Tree {
    /// As [`Self::history`], with only the commits that changed a visible node. A comment is left out unless every change
    /// of its commit is visible, since it may describe the others. Of a commit, the first
    /// [`HISTORY_CHANGES_EXAMINED_MAX`] changes are examined; those after them count as not visible.
    ///
    /// # Errors
    /// Those of the store and of `is_visible`.
    pub fn visible_history(
        &self,
        from: Option<u64>,
        limit: usize,
        is_visible: IsVisible<'_>,
    ) -> Result<Vec<CommitInfo>> {
        let snapshot = self.store().driver().snapshot()?;
        let KeptVersions { oldest, newest } = KeptVersions::read(&*snapshot, self.id())?;
        let from = from.map_or(newest, |from| from.min(newest));
        let mut commits = Vec::new();
        if from < oldest.max(1) {
            return Ok(commits);
        }
        // One commit after the other is undone, so that each costs its own changes.
        let mut state = rewind(snapshot, self.id(), RewindTarget::Version(from))?;
        for version in (oldest.max(1)..=from).rev() {
            if commits.len() == limit.min(HISTORY_PAGE_MAX) {
                break;
            }
            let header = header(&state, self.id(), version)?;
            let header = header.ok_or_else(|| Error::corrupt("the log lacks a version"))?;
            let (before, visibility) = self.visibility(state, version, is_visible)?;
            state = before;
            if visibility.some {
                commits.push(CommitInfo {
                    version,
                    time: header.time,
                    author: header.author,
                    comment: match visibility.hidden {
                        true => String::new(),
                        false => header.comment,
                    },
                });
            }
        }
        Ok(commits)
    }

    /// How much of a commit is visible, given the state after it; returns the state before it.
    fn visibility(
        &self,
        state: Overlay,
        version: u64,
        is_visible: IsVisible<'_>,
    ) -> Result<(Overlay, Visibility)> {
        let undo = Arc::new(changes_between(&state, self.id(), version, version - 1)?);
        let old_schema = self.compiled_at(&state, version - 1)?;
        let new_schema = self.compiled_at(&state, version)?;
        let earlier = Overlay::over(state).replaced(Arc::clone(&undo));
        let mut visibility = Visibility::default();
        let earlier = self.compare_states(
            earlier,
            (&old_schema, &new_schema),
            (NewerState::Lower, SchemaScope::Everything),
            &mut |compiled, comparison| {
                let compared = each_node_change(comparison, &mut |change| {
                    match visibility.is_decided() {
                        true => return Err(Error::Stopped),
                        false => visibility.add(is_visible(&compiled.schema, change)?),
                    }
                    Ok(())
                });
                match compared {
                    Err(Error::Stopped) => Ok(()),
                    result => result,
                }
            },
        )?;
        let mut state = below(earlier)?;
        state.apply(&undo);
        Ok((state, visibility))
    }
}
