//! Notifies subscribers of loads.
//!
//! A load is streamed: its diff is computed from the log after the commit. If a subscriber takes part in
//! commits, the load cannot be streamed and is a normal commit.

use espalier_yang::data::{Content, DataNode, DataTree, TreeBuilder};
use espalier_yang::{InstancePath, Sink};

use super::announce::{CommitNote, is_too_big};
use super::queue::{Event, Lagged};
use super::registry::Delivery;
use crate::error::{Error, Result};
use crate::tree::commit_options::CommitOptions;
use crate::tree::edit::Edit;
use crate::tree::load::{LoadMode, LoadOptions, LoadReport};
use crate::tree::stamp::Stamp;
use crate::tree::tree::Tree;

impl Tree {
    /// Whether any subscriber takes part in commits.
    pub(in crate::tree) fn has_subscribers(&self) -> bool {
        let listeners = self.store().subscriptions().listeners(self.id());
        listeners.is_some_and(|all| all.iter().any(|one| one.subscriber().is_some()))
    }

    /// Loads a document as a normal commit with subscribers. The document is held in memory, so it has at
    /// most [`espalier_yang::data::NODES_MAX`] nodes.
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

    /// Notifies event queues of a committed load.
    pub(in crate::tree) fn notify_load(&self, stamp: Stamp, options: &LoadOptions<'_>) {
        let Some(listeners) = self.store().subscriptions().listeners(self.id()) else {
            return;
        };
        let version = stamp.version;
        let mut recipients = None;
        let result = self.compare_converted(version - 1, version, &mut |comparison| {
            recipients = Some(self.recipients(comparison)?);
            Ok(())
        });
        match result.map(|()| recipients) {
            Ok(None) => {}
            Ok(Some(announced)) => {
                let note = CommitNote {
                    author: options.author.to_owned(),
                    comment: options.comment.to_owned(),
                };
                announced.notify(stamp, &note);
            }
            Err(error) => {
                if !is_too_big(&error) && !matches!(error, Error::Pruned { .. }) {
                    tracing::error!(%error, "the diff of a load cannot be computed");
                }
                for listener in listeners.iter() {
                    if let Delivery::Queue(queue) = &listener.delivery {
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
        access: options.access,
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
