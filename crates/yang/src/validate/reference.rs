//! Values that refer to nodes that must exist: leafref (RFC 7950 §9.9) and instance-identifier (§9.13).

use std::ops::ControlFlow;

use super::checker::Checker;
use super::plan::{Rule, has_reference};
use crate::error::{DataError, ErrorTag};
use crate::instances::Instances;
use crate::schema::{ModuleNames, NodeId, Type, TypeKind};
use crate::value::Value;
use crate::xpath::evaluate::{Item, Leaf};

impl<T: Instances> Checker<'_, T> {
    /// Checks the values of a leaf or leaf-list, or only one of them.
    pub fn reference(
        &mut self,
        rule: &Rule,
        holder: &T::Inner,
        value: Option<&Value>,
    ) -> Result<(), T::Error> {
        let Some(node) = rule.node else {
            return Ok(());
        };
        let is_leaf_list = self.schema().node(node).is_leaf_list();
        let mut dangling = Vec::new();
        match value.filter(|_| is_leaf_list) {
            Some(value) => {
                if self.data.has_value(holder, node, value)? {
                    self.dangling(holder, node, value.clone(), &mut dangling)?;
                }
            }
            None => self.instances(holder, &rule.chain, &mut |item| {
                if let Item::Leaf(leaf) = item {
                    self.dangling(holder, node, leaf.value, &mut dangling)?;
                }
                Ok(ControlFlow::Continue(()))
            })?,
        }
        let leaf = self.schema().node(node).as_value();
        let is_secret = leaf.is_some_and(|leaf| leaf.value_type.has_secret_values());
        for value in dangling {
            let message = match is_secret {
                true => "the value refers to nothing that exists".to_owned(),
                false => format!("“{value}” refers to nothing that exists"),
            };
            let error =
                DataError::new(ErrorTag::DataMissing, message).with_app_tag("instance-required");
            self.report(&Item::leaf(holder.clone(), node, value), error)?;
        }
        Ok(())
    }

    fn dangling(
        &self,
        holder: &T::Inner,
        node: NodeId,
        value: Value,
        dangling: &mut Vec<Value>,
    ) -> Result<(), T::Error> {
        let value_type = self.schema().node(node).as_value();
        let target_exists = match value_type {
            Some(leaf) => self.target_exists(holder, node, &leaf.value_type, &value)?,
            None => true,
        };
        if !target_exists {
            dangling.push(value);
        }
        Ok(())
    }

    /// Returns whether the target of a value exists. In a union, that of one member is enough (RFC 7950 §9.12).
    fn target_exists(
        &self,
        holder: &T::Inner,
        node: NodeId,
        value_type: &Type,
        value: &Value,
    ) -> Result<bool, T::Error> {
        match &value_type.kind {
            TypeKind::LeafRef {
                path,
                target: Some(_),
                require_instance: true,
                ..
            } => match self.plan.target(node, &path.text) {
                Some(target) => target.has_target(&self.evaluator, holder, node, value),
                None => {
                    let leaf = Leaf::stored(holder.clone(), node, value.clone());
                    self.evaluator.has_target(&leaf, path)
                }
            },
            TypeKind::InstanceIdentifier {
                require_instance: true,
                root,
            } => {
                let text = value.to_string();
                let target = self.evaluator.named_by(node, holder, *root, &text)?;
                Ok(target.is_some())
            }
            TypeKind::Union(members) => {
                let text = value.to_string();
                let names = ModuleNames {
                    leaf_module: self.schema().node(node).module,
                };
                for member in members {
                    let Ok(value) = member.parse(self.schema(), &text, &names) else {
                        continue;
                    };
                    if !has_reference(member) || self.target_exists(holder, node, member, &value)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            _ => Ok(true),
        }
    }
}
