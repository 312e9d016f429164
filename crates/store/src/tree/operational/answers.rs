//! Asking the providers that have a part in a reading, and uniting what they tell.

use std::sync::Arc;
use std::time::Instant;

use espalier_yang::data::{Content as Told, DataNode, DataTree};
use espalier_yang::path::Selection as Selected;
use espalier_yang::{DataError, ErrorTag, Errors, InstancePath, Keys, Schema};

use super::layers::{Nothing, Provided};
use super::provider::{ProviderRequest, Warning, WarningReason};
use super::registry::{Answer, Providers, Registered, meeting};
use super::union::LAYERS_MAX;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::keys::TreeId;
use crate::overlay::Overlay;
use crate::store::Compiled;
use crate::tree::edit::{Applying, Edit};
use crate::tree::read::Sources;
use crate::tree::selection::{Content, Selection};

/// Who is asked, and when.
pub(super) struct Asking<'a> {
    pub registry: &'a Providers,
    pub compiled: &'a Compiled,
    pub tree: TreeId,
    pub schema: &'a Arc<Schema>,
    pub now: Timestamp,
}

/// What one provider told, laid out as keys.
pub(super) struct Layer {
    registered: Arc<Registered>,
    told: Overlay,
}

/// A question that was put to a provider.
struct Asked {
    registered: Arc<Registered>,
    at: InstancePath,
    path: InstancePath,
    answer: Answer,
}

impl Asking<'_> {
    /// Asks every provider that has a part in the selection below `path`, all at once, and waits
    /// for each as long as it may take.
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
            let told = match layers.len() + 1 < LAYERS_MAX {
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
        let answer = registered.ask(request, self.now);
        Some(Asked {
            registered,
            at,
            path: meeting,
            answer,
        })
    }

    /// Whether a selection below `path` goes as far as `at`, and wants what is there.
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

    /// Waits for an answer and lays it out.
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
        if let Err(error) = check_place(&self.compiled.schema, &tree.nodes, &at) {
            return Ok(Err(WarningReason::Invalid(error.into())));
        }
        self.lay_out(&tree)
    }

    /// The keys and values of an answer.
    fn lay_out(&self, tree: &Arc<DataTree>) -> Result<std::result::Result<Overlay, WarningReason>> {
        let mut overlay = Overlay::new(Box::new(Nothing));
        let mut applying = Applying::new(&mut overlay, self.compiled, self.tree);
        // The edit takes the tree, which may be kept for later readings.
        let tree = DataTree::clone(tree);
        applying.edit(&Edit::merge(InstancePath::root(), tree))?;
        let errors: Errors = applying.errors;
        Ok(match errors.is_empty() {
            true => Ok(overlay),
            false => Err(WarningReason::Invalid(errors)),
        })
    }

    /// Calls `then` with everything that was told laid over `below`.
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

/// Whether an answer holds nothing but what is at a path, and what leads there.
fn check_place(
    schema: &Schema,
    nodes: &[DataNode],
    at: &InstancePath,
) -> std::result::Result<(), DataError> {
    let mut around = vec![(nodes, 0)];
    while let Some((nodes, depth)) = around.pop() {
        let Some(step) = at.steps.get(depth) else {
            continue;
        };
        for node in nodes {
            let leaf = schema.node(node.node).as_value();
            if depth > 0 && leaf.is_some_and(|leaf| leaf.is_key) {
                continue;
            }
            if node.node != step.node || !is_entry(schema, node, &step.keys) {
                let message = "the provider is not registered for this node";
                return Err(
                    DataError::new(ErrorTag::UnknownElement, message).at(schema.path(node.node))
                );
            }
            if let Told::Inner(children) = &node.content {
                around.push((children, depth + 1));
            }
        }
    }
    Ok(())
}

/// Whether a node is the entry that keys name.
fn is_entry(schema: &Schema, node: &DataNode, keys: &Keys) -> bool {
    match keys {
        Keys::None | Keys::Position(_) => true,
        Keys::Values(values) => match node.value() {
            Some(value) => values.first() == Some(value),
            None => node
                .keys(schema)
                .is_some_and(|keys| keys.into_iter().eq(values)),
        },
    }
}
