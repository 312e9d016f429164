//! Which data of providers a read needs.

use espalier_yang::path::Selection as Selected;
use espalier_yang::{InstancePath, Keys};

use crate::compiled_schema_set::Compiled;
use crate::tree::filter::Plan;
use crate::tree::selection::{Content, Selection};

/// The part of a datastore that is read.
pub(in crate::tree) enum ProviderReach<'a> {
    /// A selection of a resource.
    Resource(&'a InstancePath, &'a Selection),
    /// What a plan selects.
    Plan(&'a Plan),
}

impl ProviderReach<'_> {
    /// The path that a provider registered for `at` is called with; `None` if nothing of its data is read.
    pub fn path_within(&self, compiled: &Compiled, at: &InstancePath) -> Option<InstancePath> {
        match self {
            Self::Plan(plan) => plan.path_within(&compiled.schema, at),
            Self::Resource(path, selection) => {
                let common = common_path(at, path)?;
                is_selected(compiled, at, path, selection).then_some(common)
            }
        }
    }
}

/// Whether a selection below `path` reaches `at` and includes its data.
fn is_selected(
    compiled: &Compiled,
    at: &InstancePath,
    path: &InstancePath,
    selection: &Selection,
) -> bool {
    let schema = &compiled.schema;
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
        Content::NonConfig => compiled.contains_state(target),
    });
    let is_in_fields = |node| {
        let fields = selection.fields.as_ref();
        fields.is_none_or(|fields| fields.selection(schema, node) != Selected::Not)
    };
    is_deep_enough && is_content && below.iter().all(|step| is_in_fields(step.node))
}

/// The longer of two paths, with the keys of both; none if neither is a prefix of the other.
fn common_path(one: &InstancePath, two: &InstancePath) -> Option<InstancePath> {
    let (long, short) = match one.steps.len() >= two.steps.len() {
        true => (one, two),
        false => (two, one),
    };
    let mut steps = long.steps.clone();
    for (step, other) in steps.iter_mut().zip(&short.steps) {
        if step.node != other.node {
            return None;
        }
        match (&step.keys, &other.keys) {
            (_, Keys::None) => {}
            (Keys::None, keys) => step.keys = keys.clone(),
            (mine, theirs) if mine == theirs => {}
            _ => return None,
        }
    }
    Some(InstancePath { steps })
}
