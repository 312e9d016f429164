//! Calls the providers selected by a read, and layers their data.

use std::sync::Arc;
use std::time::Instant;

use espalier_yang::data::DataTree;
use espalier_yang::path::Selection as Selected;
use espalier_yang::{Errors, InstancePath, Schema};

use super::check::{check_nodes, check_place};
use super::layers::{Nothing, Provided};
use super::provider::{PROVIDERS_IN_READING_MAX, ProviderRequest, Warning, WarningReason};
use super::registry::{Answer, Providers, Registered, meeting};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::keys::TreeId;
use crate::overlay::Overlay;
use crate::store::Compiled;
use crate::tree::edit::{Applying, Edit, TouchScope};
use crate::tree::read::Sources;
use crate::tree::selection::{Content, Selection};

/// The context of provider calls for one read.
pub(super) struct Asking<'a> {
    pub registry: &'a Providers,
    pub compiled: &'a Compiled,
    pub tree: TreeId,
    pub schema: &'a Arc<Schema>,
    pub now: Timestamp,
}

/// The data of one provider, as keys and values.
pub(super) struct Layer {
    registered: Arc<Registered>,
    told: Overlay,
}

/// A started call of a provider.
struct Asked {
    registered: Arc<Registered>,
    at: InstancePath,
    path: InstancePath,
    answer: Answer,
}

impl Asking<'_> {
    /// Calls every provider whose data is selected below `path`, all in parallel, and waits for each up to
    /// its timeout.
    pub fn ask(
        &self,
        path: &InstancePath,
        selection: &Selection,
        warnings: &mut Vec<Warning>,
    ) -> Result<Vec<Layer>> {
        let begun = Instant::now();
        let mut asked = Vec::new();
        for registered in self.registry.of(self.tree.anchor) {
            if let Some(question) = self.question(registered, path, selection, warnings) {
                asked.push(question);
            }
        }
        let mut layers = Vec::new();
        for question in asked {
            let registered = Arc::clone(&question.registered);
            let path = question.path.clone();
            let told = match layers.len() < PROVIDERS_IN_READING_MAX {
                true => self.layer(question, begun)?,
                false => Err(WarningReason::TooMany),
            };
            match told {
                Ok(told) => layers.push(Layer { registered, told }),
                Err(reason) => warnings.push(self.warning(&registered, &path, reason)),
            }
        }
        Ok(layers)
    }

    fn warning(
        &self,
        registered: &Registered,
        path: &InstancePath,
        reason: WarningReason,
    ) -> Warning {
        let warning = Warning {
            provider: registered.provider.name.clone(),
            path: path.to_instance_identifier(&self.compiled.schema),
            reason,
        };
        tracing::warn!(provider = %warning.provider, path = %warning.path, "{warning}");
        warning
    }

    fn question(
        &self,
        registered: Arc<Registered>,
        path: &InstancePath,
        selection: &Selection,
        warnings: &mut Vec<Warning>,
    ) -> Option<Asked> {
        let Some(at) = registered.at(self.schema) else {
            warnings.push(self.warning(&registered, path, WarningReason::NotInSchema));
            return None;
        };
        let meeting = meeting(&at, path)?;
        if !self.is_selected(&at, path, selection) {
            return None;
        }
        let request = ProviderRequest {
            schema: Arc::clone(self.schema),
            path: meeting.clone(),
        };
        let answer = registered.ask(self.registry.workers(), request, self.now);
        Some(Asked {
            registered,
            at,
            path: meeting,
            answer,
        })
    }

    /// Whether a selection below `path` reaches `at` and includes its data.
    fn is_selected(&self, at: &InstancePath, path: &InstancePath, selection: &Selection) -> bool {
        let schema = &self.compiled.schema;
        let below = at.steps.get(path.steps.len()..).unwrap_or_default();
        let depth = selection.depth.filter(|_| selection.fields.is_none());
        let is_deep_enough = depth.is_none_or(|depth| below.len() < depth as usize);
        let target = match below {
            [] => path.target(),
            _ => at.target(),
        };
        let is_content = target.is_none_or(|target| match selection.content {
            Content::All => true,
            Content::Config => schema.node(target).is_config,
            Content::NonConfig => self.compiled.holds_state(target),
        });
        let is_wanted = |node| {
            let fields = selection.fields.as_ref();
            fields.is_none_or(|fields| fields.selection(schema, node) != Selected::Not)
        };
        is_deep_enough && is_content && below.iter().all(|step| is_wanted(step.node))
    }

    /// Waits for a call and converts its data.
    fn layer(
        &self,
        asked: Asked,
        begun: Instant,
    ) -> Result<std::result::Result<Overlay, WarningReason>> {
        let Asked {
            registered,
            at,
            path,
            answer,
        } = asked;
        let timeout = registered.provider.timeout;
        let tree = match answer {
            Answer::None(reason) => return Ok(Err(reason)),
            Answer::Kept(tree) => tree,
            Answer::Coming(receiver) => {
                let left = timeout.saturating_sub(begun.elapsed());
                let tree = match receiver.recv_timeout(left) {
                    Ok(Ok(tree)) => Arc::new(tree),
                    Ok(Err(reason)) => return Ok(Err(reason)),
                    Err(_) => return Ok(Err(WarningReason::TimedOut(timeout))),
                };
                registered.keep(path, self.now, &tree);
                tree
            }
        };
        let checked = check_nodes(self.schema, &tree.nodes);
        if let Err(error) = checked.and_then(|()| check_place(self.schema, &tree.nodes, &at)) {
            return Ok(Err(WarningReason::Invalid(error.into())));
        }
        self.lay_out(tree)
    }

    /// The keys and values of a provider's data.
    fn lay_out(&self, tree: Arc<DataTree>) -> Result<std::result::Result<Overlay, WarningReason>> {
        let mut overlay = Overlay::new(Box::new(Nothing));
        let applying = Applying::new(&mut overlay, self.compiled, self.tree);
        let mut applying = applying.with_touch_scope(TouchScope::DatastoreOnly);
        // The edit consumes the tree, which may be cached for later reads.
        let tree = Arc::try_unwrap(tree).unwrap_or_else(|kept| DataTree::clone(&kept));
        applying.edit(&Edit::merge(InstancePath::root(), tree))?;
        let errors: Errors = applying.errors;
        Ok(match errors.is_empty() {
            true => Ok(overlay),
            false => Err(WarningReason::Invalid(errors)),
        })
    }

    /// Calls `then` with all data layered over `below`.
    pub fn over(
        &self,
        below: &dyn Sources,
        layers: &[Layer],
        number: usize,
        then: &mut dyn FnMut(&dyn Sources) -> Result<()>,
    ) -> Result<()> {
        let Some((first, rest)) = layers.split_first() else {
            return then(below);
        };
        let provided = Provided {
            compiled: self.compiled,
            below,
            told: &first.told,
            tree: self.tree,
            number,
            origin: first.registered.provider.origin,
        };
        self.over(&provided, rest, number + 1, then)
    }
}
