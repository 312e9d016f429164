//! Loads and those who are told of them.
//!
//! A load streams: its diff is made when it is committed, from the log. Where somebody takes part
//! in commits it cannot stream, and is a commit as any other.

use espalier_yang::data::{Content, DataNode, DataTree, TreeBuilder};
use espalier_yang::{InstancePath, Sink};

use super::announce::is_too_big;
use super::queue::{Event, Lagged};
use super::registry::Way;
use crate::error::{Error, Result};
use crate::tree::commit::{CommitOptions, Tree};
use crate::tree::edit::Edit;
use crate::tree::load::{LoadMode, LoadOptions, LoadReport};
use crate::tree::stamp::Stamp;

impl Tree {
    /// Whether somebody takes part in commits.
    pub(in crate::tree) fn has_subscribers(&self) -> bool {
        let listeners = self.store().subscriptions().listeners(self.id());
        listeners.is_some_and(|all| all.iter().any(|one| one.subscriber().is_some()))
    }

    /// A load that subscribers take part in: its document is held in memory, so it has at most
    /// [`espalier_yang::data::NODES_MAX`] nodes.
    pub(in crate::tree) fn load_as_commit(
        &self,
        options: &LoadOptions<'_>,
        document: &mut dyn FnMut(&mut dyn Sink) -> Result<()>,
    ) -> Result<LoadReport> {
        let mut builder = TreeBuilder::new();
        let parsed = document(&mut builder);
        let tree = builder.finish()?;
        parsed?;
        let (mut fragments, mut values) = (0, 0);
        count(&tree.nodes, &mut fragments, &mut values);
        let edit = edit_of(options.mode, tree);
        let commit = self.commit(&[edit], commit_options(options))?;
        Ok(LoadReport {
            commit,
            fragments,
            values,
        })
    }

    /// Tells those who have queues of a load that is committed.
    pub(in crate::tree) fn tell_of_load(&self, stamp: Stamp, options: &LoadOptions<'_>) {
        let Some(listeners) = self.store().subscriptions().listeners(self.id()) else {
            return;
        };
        let version = stamp.version;
        let mut audience = None;
        let told = self.compare_converted(version - 1, version, &mut |comparison| {
            audience = Some(self.audience(comparison)?);
            Ok(())
        });
        match told.map(|()| audience) {
            Ok(None) => {}
            Ok(Some(announced)) => announced.committed(stamp, commit_options(options)),
            Err(error) => {
                if !is_too_big(&error) && !matches!(error, Error::Pruned { .. }) {
                    tracing::error!(%error, "the diff of a load cannot be made");
                }
                for listener in listeners.iter() {
                    if let Way::Queue(queue) = &listener.way {
                        queue.push(Event::Lagged(Lagged::one(version)));
                    }
                }
            }
        }
    }
}

fn commit_options<'a>(options: &LoadOptions<'a>) -> CommitOptions<'a> {
    CommitOptions {
        author: options.author,
        comment: options.comment,
        session: options.session,
        guard: options.guard,
        origin: options.origin,
    }
}

fn edit_of(mode: LoadMode, tree: DataTree) -> Edit {
    match mode {
        LoadMode::Merge => Edit::merge(InstancePath::root(), tree),
        LoadMode::Replace => Edit::replace_all(tree),
        LoadMode::Create => Edit::create(InstancePath::root(), tree),
    }
}

fn count(nodes: &[DataNode], fragments: &mut u64, values: &mut u64) {
    for node in nodes {
        match &node.content {
            Content::Inner(children) => {
                *fragments += 1;
                count(children, fragments, values);
            }
            _ => *values += 1,
        }
    }
}
