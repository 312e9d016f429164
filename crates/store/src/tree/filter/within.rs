//! The part of a plan at and below one instance.

use espalier_yang::{InstancePath, Keys, NodeKind, Schema, Step};

use super::plan::{Instance, Plan, PlanId};
use crate::error::Result;

impl Plan {
    /// The plan of what this one selects at and below a path. Entries without keys cannot be on the path; a last step
    /// without keys stands for all entries. Conditions apply as in the whole plan.
    ///
    /// # Errors
    /// `too-big` beyond [`FILTER_PLAN_NODES_MAX`](super::FILTER_PLAN_NODES_MAX).
    pub fn within(&self, schema: &Schema, path: &InstancePath) -> Result<Self> {
        let mut restriction = Restriction {
            schema,
            plan: self,
            result: Self::default(),
        };
        for &root in self.roots() {
            let conditions = self.node(root).conditions.clone();
            let to = restriction.result.add_root(conditions)?;
            restriction.follow(Source::Node(root), to, &path.steps)?;
        }
        Ok(restriction.result.sorted())
    }

    /// Whether it can select nothing.
    pub fn is_empty(&self) -> bool {
        let is_empty = |&id: &PlanId| {
            let node = self.node(id);
            !node.selects && node.children.is_empty() && node.leaves.is_empty()
        };
        self.roots().iter().all(is_empty)
    }

    /// Whether the instances of a plan node may include the one with these keys.
    pub fn may_be(&self, id: PlanId, keys: &Keys) -> bool {
        match (&self.node(id).instance, keys) {
            (Instance::Keys(Keys::Values(own)), Keys::Values(values)) => {
                own.iter().zip(values).all(|(own, value)| own == value)
            }
            _ => true,
        }
    }
}

/// What selects at a place.
#[derive(Clone, Copy)]
enum Source {
    /// Everything is selected.
    Whole,
    /// What a node of the plan selects.
    Node(PlanId),
}

struct Restriction<'a> {
    schema: &'a Schema,
    plan: &'a Plan,
    result: Plan,
}

impl Restriction<'_> {
    fn follow(&mut self, source: Source, to: PlanId, steps: &[Step]) -> Result<()> {
        let source = match source {
            Source::Node(id) if self.plan.node(id).selects => Source::Whole,
            source => source,
        };
        let Some((step, rest)) = steps.split_first() else {
            return self.copy(source, to);
        };
        if is_leaf(&self.schema.node(step.node).kind) {
            self.leaf(source, to, step);
            return Ok(());
        }
        let Source::Node(id) = source else {
            let instance = Instance::Keys(step.keys.clone());
            let child = self.result.child(to, step.node, instance)?;
            return self.follow(Source::Whole, child, rest);
        };
        let children: Vec<PlanId> = self.plan.children_of(id, step.node).collect();
        for child in children {
            if self.plan.may_be(child, &step.keys) {
                let next = self.child(to, child, &step.keys)?;
                self.follow(Source::Node(child), next, rest)?;
            }
        }
        Ok(())
    }

    fn leaf(&mut self, source: Source, to: PlanId, step: &Step) {
        match source {
            Source::Whole => self.result.select_leaf(to, step.node, None),
            Source::Node(id) => {
                let leaves = self.plan.node(id).leaves.iter();
                for (leaf, value) in leaves.filter(|(leaf, _)| *leaf == step.node) {
                    self.result.select_leaf(to, *leaf, value.clone());
                }
            }
        }
    }

    /// The node for a child of the plan, with these keys if there are any.
    fn child(&mut self, to: PlanId, child: PlanId, keys: &Keys) -> Result<PlanId> {
        let from = self.plan.node(child);
        let instance = match keys {
            Keys::None => from.instance.clone(),
            keys => Instance::Keys(keys.clone()),
        };
        let Some(node) = from.node else {
            return Ok(to);
        };
        match from.conditions.is_empty() {
            true => self.result.child(to, node, instance),
            false => {
                let conditions = from.conditions.clone();
                self.result.add_child(to, node, instance, conditions)
            }
        }
    }

    /// Copies everything below a place.
    fn copy(&mut self, source: Source, to: PlanId) -> Result<()> {
        let Source::Node(id) = source else {
            self.result.select(to);
            return Ok(());
        };
        let from = self.plan.node(id);
        if from.selects {
            self.result.select(to);
        }
        for (leaf, value) in &from.leaves {
            self.result.select_leaf(to, *leaf, value.clone());
        }
        for &(_, child) in &from.children {
            let next = self.child(to, child, &Keys::None)?;
            self.copy(Source::Node(child), next)?;
        }
        Ok(())
    }
}

/// Whether a node is a value of the node that holds it.
pub(in crate::tree) fn is_leaf(kind: &NodeKind) -> bool {
    matches!(
        kind,
        NodeKind::Leaf(_) | NodeKind::AnyData | NodeKind::AnyXml
    )
}
