//! `deref()` (RFC 7950 §10.3.1), and the targets of leafrefs and instance-identifiers.

use super::evaluator::{CONTINUE, Env, STOP, Visitor};
use super::index_lookup::{KnownValues, is_plain_child};
use super::{Evaluator, Item, Leaf};
use crate::instances::{Instances, Visit};
use crate::path::{InstancePath, Keys, Step};
use crate::schema::{ModuleNames, NodeId, NodeKind, Type, TypeKind};
use crate::value::Value;
use crate::xpath::{Expr, Expression, LocationPath, PathStep};

impl<T: Instances> Evaluator<'_, T> {
    /// The targets of a leaf: the instances of the leafref's path that have its value, or the target of its
    /// instance-identifier. For a union, those of the first member that has any.
    pub fn targets(&self, leaf: &Leaf<T>) -> Result<Vec<Item<T>>, T::Error> {
        self.budget.run(|| {
            let Some(node) = self.schema().node(leaf.node).as_value() else {
                return Ok(Vec::new());
            };
            self.targets_of(leaf, &node.value_type)
        })
    }

    /// Returns whether a leafref's path leads from a leaf to an instance that has its value.
    pub fn has_target(&self, leaf: &Leaf<T>, path: &Expression) -> Result<bool, T::Error> {
        self.budget.run(|| {
            let mut is_found = false;
            let _ = self.visit_targets(leaf, path, &mut |_| {
                is_found = true;
                Ok(STOP)
            })?;
            Ok(is_found)
        })
    }

    /// The node at a path, if it exists.
    pub fn resolve(&self, path: &InstancePath) -> Result<Option<Item<T>>, T::Error> {
        self.resolve_below(self.data.root(), path)
    }

    /// The target of an instance-identifier of a leaf, whose paths start at an instance of `root` around it, or at the
    /// root.
    pub fn named_by(
        &self,
        leaf: NodeId,
        holder: &T::Inner,
        root: Option<NodeId>,
        text: &str,
    ) -> Result<Option<Item<T>>, T::Error> {
        let names = ModuleNames {
            leaf_module: self.schema().node(leaf).module,
        };
        let Ok(path) = InstancePath::parse_below(self.schema(), root, text, &names) else {
            return Ok(None);
        };
        let mut place = holder.clone();
        while root.is_some() && self.data.node(&place) != root {
            match self.data.parent(&place) {
                Some(parent) => place = parent,
                None => return Ok(None),
            }
        }
        match root {
            Some(_) => self.resolve_below(place, &path),
            None => self.resolve(&path),
        }
    }

    fn resolve_below(
        &self,
        place: T::Inner,
        path: &InstancePath,
    ) -> Result<Option<Item<T>>, T::Error> {
        let mut item = Item::Inner(place);
        for step in &path.steps {
            let Item::Inner(place) = &item else {
                return Ok(None);
            };
            self.count_visit()?;
            match self.resolve_step(place, step)? {
                Some(next) => item = next,
                None => return Ok(None),
            }
        }
        Ok(Some(item))
    }

    /// `deref()` of its argument.
    pub(super) fn deref(
        &self,
        arguments: &[Expr],
        env: &Env<'_, T>,
    ) -> Result<Vec<Item<T>>, T::Error> {
        let first = match arguments {
            [nodes] => self.first(nodes, env)?,
            _ => None,
        };
        match first {
            Some(Item::Leaf(leaf)) => self.targets(&leaf),
            _ => Ok(Vec::new()),
        }
    }

    fn targets_of(&self, leaf: &Leaf<T>, of: &Type) -> Result<Vec<Item<T>>, T::Error> {
        match &of.kind {
            TypeKind::LeafRef { path, .. } => {
                let mut items = Vec::new();
                let _ = self.visit_targets(leaf, path, &mut |item| {
                    items.push(item);
                    Ok(CONTINUE)
                })?;
                self.sort(&mut items, super::paths::Order::Unknown)?;
                Ok(items)
            }
            TypeKind::InstanceIdentifier { root, .. } => {
                let Value::InstanceIdentifier(text) = &leaf.value else {
                    return Ok(Vec::new());
                };
                let target = self.named_by(leaf.node, &leaf.holder, *root, text)?;
                Ok(target.into_iter().collect())
            }
            TypeKind::Union(members) => {
                for member in members {
                    let items = self.targets_of(leaf, member)?;
                    if !items.is_empty() {
                        return Ok(items);
                    }
                }
                Ok(Vec::new())
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The distinct instances of a leafref's path that have the value of the leaf.
    fn visit_targets(
        &self,
        leaf: &Leaf<T>,
        path: &Expression,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        let item = Item::Leaf(leaf.clone());
        let env = Env::at(&item);
        if let Expr::Path(path) = &path.root
            && let Some((last, before)) = path.steps.split_last()
            && is_plain_child(last)
        {
            return self.targets_by_entry(path, before, last, &env, visit);
        }
        self.stream(&path.root, &env, &mut |found| {
            with_value(found, leaf, visit)
        })
    }

    /// For a path that ends in a leaf or leaf-list of a list without predicates: looks the entry up by the value.
    fn targets_by_entry(
        &self,
        path: &LocationPath,
        before: &[PathStep],
        last: &PathStep,
        env: &Env<'_, T>,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        let Item::Leaf(leaf) = env.item else {
            return Ok(CONTINUE);
        };
        let root = Item::Inner(self.data.root());
        let from = if path.is_absolute { &root } else { env.item };
        let mut in_entry = |entry: Item<T>| self.children_with_value(&entry, last, leaf, visit);
        let Some((list, above)) = before.split_last().filter(|(list, _)| is_plain_child(list))
        else {
            return self.stream_steps(from, before, env, &mut in_entry);
        };
        self.stream_steps(from, above, env, &mut |item| {
            let Item::Inner(place) = &item else {
                return Ok(CONTINUE);
            };
            if let Some(id) = self.only_child(place, &list.test)
                && let Some(key) = self.only_child_of(Some(id), &last.test)
            {
                let mut known = KnownValues::default();
                known.add(key, leaf.value.clone());
                let found = self.look_up(place, id, &known, &mut |entry, _| in_entry(entry))?;
                if let Some(flow) = found {
                    return Ok(flow);
                }
            }
            self.children(&item, &list.test, &mut in_entry)
        })
    }

    fn children_with_value(
        &self,
        of: &Item<T>,
        step: &PathStep,
        leaf: &Leaf<T>,
        visit: &mut Visitor<'_, T>,
    ) -> Visit<T::Error> {
        let Item::Inner(place) = of else {
            return Ok(CONTINUE);
        };
        if let Some(id) = self.only_child(place, &step.test)
            && self.schema().node(id).is_leaf_list()
        {
            let mut known = KnownValues::default();
            known.add(id, leaf.value.clone());
            let found = self.look_up(place, id, &known, &mut |entry, _| visit(entry))?;
            if let Some(flow) = found {
                return Ok(flow);
            }
        }
        self.children(of, &step.test, &mut |found| with_value(found, leaf, visit))
    }

    fn resolve_step(&self, place: &T::Inner, step: &Step) -> Result<Option<Item<T>>, T::Error> {
        let node = self.schema().node(step.node);
        Ok(match (&node.kind, &step.keys) {
            (NodeKind::List(_), Keys::Values(keys)) => {
                self.data.entry(place, step.node, keys)?.map(Item::Inner)
            }
            (_, Keys::Position(position)) => {
                let mut left = *position;
                let mut found = None;
                let _ = self.instances(place, step.node, &mut |item| {
                    left = left.saturating_sub(1);
                    found = (left == 0).then_some(item);
                    Ok(if left == 0 { STOP } else { CONTINUE })
                })?;
                found
            }
            (NodeKind::LeafList(leaf_list), Keys::Values(values))
                if node.is_config && leaf_list.defaults.is_empty() && self.is_in_scope(node) =>
            {
                let Some(value) = values.first() else {
                    return Ok(None);
                };
                let is_there = self.data.has_value(place, step.node, value)?;
                is_there.then(|| Item::leaf(place.clone(), step.node, value.clone()))
            }
            (NodeKind::LeafList(_), Keys::Values(values)) => {
                let mut found = None;
                let _ = self.instances(place, step.node, &mut |item| {
                    let value = item.as_leaf().map(|leaf| &leaf.value);
                    found = (value == values.first()).then_some(item);
                    Ok(if found.is_some() { STOP } else { CONTINUE })
                })?;
                found
            }
            _ => {
                let mut found = None;
                let _ = self.instances(place, step.node, &mut |item| {
                    found = Some(item);
                    Ok(STOP)
                })?;
                found
            }
        })
    }
}

/// Visits a node if it has the value of a leaf.
fn with_value<T: Instances>(
    found: Item<T>,
    leaf: &Leaf<T>,
    visit: &mut Visitor<'_, T>,
) -> Visit<T::Error> {
    match &found {
        Item::Leaf(target) if target.value == leaf.value => visit(found),
        _ => Ok(CONTINUE),
    }
}
