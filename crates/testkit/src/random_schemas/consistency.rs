//! Keeps a schema consistent while it changes: references to removed nodes are removed.

use super::shape::{ItemId, Kind, LeafType, Shape, Style};

impl Kind {
    /// A key.
    pub(super) fn key(of: LeafType) -> Self {
        Self::Leaf {
            of,
            default: None,
            mandatory: false,
            is_key: true,
        }
    }
}

impl Shape {
    /// An item and its descendants.
    pub(super) fn subtree(&self, id: ItemId) -> Vec<ItemId> {
        let mut all = vec![id];
        let mut next = 0;
        while let Some(&at) = all.get(next) {
            all.extend(&self.items[at].children);
            next += 1;
        }
        all
    }

    /// Whether it can be removed: not the last case of a choice, nor the default one.
    pub(super) fn is_removable(&self, id: ItemId) -> bool {
        let Some(parent) = self.items[id].parent else {
            return self.roots.len() > 1;
        };
        match &self.items[parent].kind {
            Kind::Choice { default, .. } => {
                self.items[parent].children.len() > 1 && *default != Some(id)
            }
            _ => true,
        }
    }

    /// Whether it or an ancestor has no instances in the configuration.
    pub(super) fn is_hidden(&self, id: ItemId) -> bool {
        let is_hidden = |at: &ItemId| {
            let item = &self.items[*at];
            item.is_off || item.is_unsupported || item.is_state
        };
        self.around(id).iter().any(is_hidden)
    }

    /// The keys of a list.
    pub(super) fn keys(&self, id: ItemId) -> &[ItemId] {
        match &self.items[id].kind {
            Kind::List { keys, .. } => keys,
            _ => &[],
        }
    }

    /// Makes a key an ordinary leaf.
    pub(super) fn make_ordinary(&mut self, key: ItemId) {
        if let Kind::Leaf { is_key, .. } = &mut self.items[key].kind {
            *is_key = false;
        }
    }

    /// Sets the type of a leaf or leaf-list, and removes the default.
    pub(super) fn set_type(&mut self, id: ItemId, new: LeafType) {
        match &mut self.items[id].kind {
            Kind::Leaf {
                of,
                default,
                mandatory,
                ..
            } => {
                *mandatory = *mandatory && !matches!(new, LeafType::SmallWithDefault);
                (*of, *default) = (new, None);
            }
            Kind::LeafList { of, defaults, .. } => {
                *of = new;
                defaults.clear();
            }
            _ => {}
        }
    }

    /// Detaches an item from its parent.
    pub(super) fn detach(&mut self, id: ItemId) {
        match self.items[id].parent {
            Some(parent) => self.items[parent].children.retain(|&child| child != id),
            None => self.roots.retain(|&root| root != id),
        }
    }

    /// Attaches an item to a parent.
    pub(super) fn attach(&mut self, id: ItemId, parent: ItemId) {
        self.items[id].parent = Some(parent);
        self.items[parent].children.push(id);
    }

    /// Removes everything that refers to an item or its descendants, by name or type.
    pub(super) fn remove_references_to(&mut self, id: ItemId) {
        let gone = self.subtree(id);
        self.remove_named_constraints(&gone);
        for leaf in 0..self.items.len() {
            let target = match self.of(leaf) {
                Some(LeafType::Leafref(reference) | LeafType::UnionWithLeafref(reference)) => {
                    reference.target
                }
                _ => continue,
            };
            if gone.contains(&target) {
                self.set_type(leaf, LeafType::Word);
            }
        }
    }

    /// Removes the conditions and `unique` statements that name one of these items, and the conditions of
    /// these items.
    pub(super) fn remove_named_constraints(&mut self, named: &[ItemId]) {
        let names: Vec<String> = named
            .iter()
            .filter(|&&id| self.is_data(id))
            .map(|&id| self.name(id))
            .collect();
        let has_one = |text: &str| names.iter().any(|name| mentions(text, name));
        for id in 0..self.items.len() {
            let is_named = named.contains(&id);
            let item = &mut self.items[id];
            item.musts.retain(|must| !is_named && !has_one(&must.text));
            if item
                .when
                .as_ref()
                .is_some_and(|when| is_named || has_one(when))
            {
                item.when = None;
                item.when_reads.clear();
            }
            if let Kind::List { unique, .. } = &mut item.kind {
                unique.retain(|leaves| !is_named && !has_one(leaves));
            }
        }
    }

    /// Rewrites the paths of references through one of these items, without predicates; references that
    /// cannot be written become words.
    pub(super) fn refresh_references(&mut self, changed: &[ItemId]) {
        let names: Vec<String> = changed.iter().map(|&id| self.name(id)).collect();
        for leaf in 0..self.items.len() {
            let reference = match self.of(leaf) {
                Some(LeafType::Leafref(reference) | LeafType::UnionWithLeafref(reference)) => {
                    reference
                }
                _ => continue,
            };
            let target = reference.target;
            let passes = |id: ItemId| self.around(id).iter().any(|at| changed.contains(at));
            let is_concerned = passes(leaf)
                || passes(target)
                || reference.path.contains('[')
                || names.iter().any(|name| mentions(&reference.path, name));
            if !is_concerned {
                continue;
            }
            let is_absolute = reference.path.starts_with('/') && self.sees_from_root(leaf, target);
            let style = if is_absolute {
                Style::Absolute
            } else {
                Style::Relative
            };
            let path = self.path(Some(leaf), target, style, &mut |_| String::new());
            if !self.is_attached(target) || !self.sees(leaf, target) || path == "." {
                self.set_type(leaf, LeafType::Word);
            } else if let Kind::Leaf { of, .. } | Kind::LeafList { of, .. } =
                &mut self.items[leaf].kind
                && let LeafType::Leafref(reference) | LeafType::UnionWithLeafref(reference) = of
            {
                reference.path = path;
            }
        }
    }
}

/// Whether a text contains a name, not only one that begins with it.
fn mentions(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let after = text[at + name.len()..].chars().next();
        !after.is_some_and(|after| after.is_alphanumeric())
    })
}
