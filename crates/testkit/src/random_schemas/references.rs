//! Replaces plain types by leafrefs and instance-identifiers.

use rand::Rng;
use rand::rngs::StdRng;

use super::features::Features;
use super::shape::{ItemId, Kind, LeafType, Reference, Shape, Style, literal, pick};

/// Percentage of leaves that become references.
const PERCENT: u32 = 28;

/// Makes some leaves refer to others.
pub(super) fn refer(random: &mut StdRng, shape: &mut Shape, features: &mut Features) {
    let mut referrer = Referrer {
        random,
        shape,
        features,
    };
    let leaves = (0..referrer.shape.items.len()).filter(|&id| referrer.shape.of(id).is_some());
    let leaves: Vec<ItemId> = leaves.collect();
    for &leaf in &leaves {
        if referrer.random.random_ratio(PERCENT, 100) {
            referrer.make(leaf);
        }
    }
    // The possible predicates depend on the types of all leaves.
    for leaf in leaves {
        referrer.find_path(leaf);
    }
}

struct Referrer<'a> {
    random: &'a mut StdRng,
    shape: &'a mut Shape,
    features: &'a mut Features,
}

impl Referrer<'_> {
    fn make(&mut self, leaf: ItemId) {
        if self.shape.items[leaf].keeps_unconditional {
            return;
        }
        let is_key = self.shape.is_key(leaf);
        let of = match self.random.random_range(0..10) {
            0 if !is_key => {
                self.features.note("instance-identifier");
                let is_required = self.random.random_bool(0.7);
                Some(LeafType::InstanceIdentifier { is_required })
            }
            1 if !is_key => self.reference(leaf).map(|reference| {
                self.features.note("union with leafref");
                LeafType::UnionWithLeafref(reference)
            }),
            _ => self.reference(leaf).map(LeafType::Leafref),
        };
        let Some(new) = of else { return };
        let value = match &new {
            LeafType::Leafref(reference) => {
                let base = self.shape.base(reference.target).clone();
                Some(literal(self.random, &base))
            }
            _ => None,
        };
        let value = value.filter(|_| !is_key && self.random.random_bool(0.12));
        if value.is_some() {
            self.features.note("leafref default");
        }
        if is_key {
            self.features.note("leafref as key");
        }
        match &mut self.shape.items[leaf].kind {
            Kind::Leaf { of, default, .. } => {
                *of = new;
                *default = value;
            }
            Kind::LeafList { of, defaults, .. } => {
                *of = new;
                *defaults = value.into_iter().collect();
            }
            _ => {}
        }
    }

    fn reference(&mut self, leaf: ItemId) -> Option<Reference> {
        let list = self.shape.data_parent(leaf);
        let is_target = |&id: &ItemId| {
            let is_fit = match self.shape.of(id) {
                Some(
                    LeafType::Empty
                    | LeafType::InstanceIdentifier { .. }
                    | LeafType::UnionWithLeafref(_),
                )
                | None => false,
                Some(LeafType::SmallWithDefault) => false,
                Some(_) => true,
            };
            // Module m does not import n; a key does not refer to a node in its own list.
            let is_seen = self.shape.sees(leaf, id);
            let is_mine =
                self.shape.is_key(leaf) && list.is_some_and(|list| self.shape.is_within(id, list));
            is_fit && is_seen && id != leaf && !is_mine && !self.depends(id, leaf)
        };
        let mut targets: Vec<ItemId> = (0..self.shape.items.len()).filter(is_target).collect();
        // Keys and references are preferred.
        let often = targets.iter().copied().filter(|&id| {
            self.shape.is_key(id) || matches!(self.shape.of(id), Some(LeafType::Leafref(_)))
        });
        let often: Vec<ItemId> = often.collect();
        targets.extend(often.iter().copied());
        targets.extend(often);
        if targets.is_empty() {
            return None;
        }
        let target = pick(self.random, &targets);
        let is_required = self.random.random_bool(0.85);
        self.features.note("leafref");
        if !is_required {
            self.features.note("leafref not required");
        }
        if matches!(self.shape.of(target), Some(LeafType::Leafref(_))) {
            self.features.note("leafref chain");
        }
        if matches!(self.shape.items[target].kind, Kind::LeafList { .. }) {
            self.features.note("leafref to leaf-list");
        }
        Some(Reference {
            target,
            path: String::new(),
            is_required,
        })
    }

    /// Sets the path of a leaf's reference, if it is one.
    fn find_path(&mut self, leaf: ItemId) {
        let Some(LeafType::Leafref(reference) | LeafType::UnionWithLeafref(reference)) =
            self.shape.of(leaf)
        else {
            return;
        };
        let (path, has_predicate) = self.path(leaf, reference.target);
        if path.starts_with('/') {
            self.features.note("leafref absolute");
        }
        if has_predicate {
            self.features.note("leafref with predicate");
        }
        if let Kind::Leaf { of, .. } | Kind::LeafList { of, .. } = &mut self.shape.items[leaf].kind
            && let LeafType::Leafref(reference) | LeafType::UnionWithLeafref(reference) = of
        {
            reference.path = path;
        }
    }

    /// Whether the type of a leaf depends on another leaf.
    fn depends(&self, leaf: ItemId, on: ItemId) -> bool {
        match self.shape.of(leaf) {
            Some(LeafType::Leafref(reference) | LeafType::UnionWithLeafref(reference)) => {
                reference.target == on || self.depends(reference.target, on)
            }
            _ => false,
        }
    }

    /// A path from a leafref to its target, and whether it has a predicate.
    fn path(&mut self, leaf: ItemId, target: ItemId) -> (String, bool) {
        let may_be_absolute = self.shape.sees_from_root(leaf, target);
        let style = match may_be_absolute && self.random.random_bool(0.3) {
            true => Style::Absolute,
            false => Style::Relative,
        };
        let lists = self.shape.lists_between(Some(leaf), target);
        let mut predicates = Vec::new();
        for list in lists {
            if !self.random.random_bool(0.6) {
                continue;
            }
            if let Some(predicate) = self.predicate(leaf, list, target) {
                predicates.push((list, predicate));
            }
        }
        let has_predicate = !predicates.is_empty();
        let path = self.shape.path(Some(leaf), target, style, &mut |at| {
            let found = predicates.iter().find(|(list, _)| *list == at);
            found.map_or(String::new(), |(_, predicate)| predicate.clone())
        });
        (path, has_predicate)
    }

    /// A predicate for one key: the value of a sibling of the reference (itself a reference to that key, if
    /// there is one).
    fn predicate(&mut self, leaf: ItemId, list: ItemId, target: ItemId) -> Option<String> {
        let Kind::List { keys, .. } = &self.shape.items[list].kind else {
            return None;
        };
        // libyang treats 0.0 as the key 0; the strings compared by XPath 1.0 (section 3.4) differ.
        let is_decimal = |leaf: ItemId| matches!(self.shape.base(leaf), LeafType::Decimal);
        let keys = keys.iter().copied();
        let keys: Vec<ItemId> = keys
            .filter(|&key| key != target && !is_decimal(key))
            .collect();
        if keys.is_empty() {
            return None;
        }
        let key = pick(self.random, &keys);
        let siblings = self.shape.data_children(self.shape.data_parent(leaf));
        let mut values: Vec<ItemId> = siblings
            .into_iter()
            .filter(|&id| id != leaf && matches!(self.shape.items[id].kind, Kind::Leaf { .. }))
            .filter(|&id| self.shape.sees(leaf, id))
            .filter(|&id| !is_decimal(id))
            .collect();
        let refers = |id: ItemId| match self.shape.of(id) {
            Some(LeafType::Leafref(reference)) => reference.target == key,
            _ => false,
        };
        if values.iter().any(|&id| refers(id)) {
            values.retain(|&id| refers(id));
        }
        if values.is_empty() {
            return None;
        }
        let value = pick(self.random, &values);
        Some(format!(
            "[{} = current()/../{}]",
            self.shape.name(key),
            self.shape.name(value)
        ))
    }
}
