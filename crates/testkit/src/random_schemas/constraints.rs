//! Generates constraints: `mandatory`, `unique`, `must`, `when` and so on.

use rand::Rng;
use rand::rngs::StdRng;

use super::expressions::ExpressionWriter;
use super::features::Features;
use super::shape::{ItemId, Kind, LeafType, Must, Shape, StatementPlace, pick};

/// Adds constraints.
pub(super) fn constrain(random: &mut StdRng, shape: &mut Shape, features: &mut Features) {
    let mut constrainer = Constrainer {
        random,
        shape,
        features,
        whens: Vec::new(),
    };
    let all = 0..constrainer.shape.items.len();
    for id in all {
        constrainer.add_constraint(id);
    }
    for _ in 0..constrainer.random.random_range(0..=12) {
        constrainer.when();
    }
    for _ in 0..constrainer.random.random_range(0..=6) {
        constrainer.must();
    }
}

/// Adds a `when` or a `must`; none if there is no possible node.
pub(super) fn add_condition(
    random: &mut StdRng,
    shape: &mut Shape,
    features: &mut Features,
) -> Option<()> {
    let whens = (0..shape.items.len()).filter(|&id| shape.items[id].when.is_some());
    let whens: Vec<_> = whens
        .map(|id| (id, shape.items[id].when_reads.clone()))
        .collect();
    let count = |shape: &Shape| -> usize {
        let items = shape.items.iter();
        items
            .map(|item| item.musts.len() + usize::from(item.when.is_some()))
            .sum()
    };
    let before = count(shape);
    let mut constrainer = Constrainer {
        random,
        shape,
        features,
        whens,
    };
    match constrainer.chance(50) {
        true => constrainer.when(),
        false => constrainer.must(),
    }
    (count(shape) > before).then_some(())
}

struct Constrainer<'a> {
    random: &'a mut StdRng,
    shape: &'a mut Shape,
    features: &'a mut Features,
    /// The items with a `when`, and the items that it reads.
    whens: Vec<(ItemId, Vec<ItemId>)>,
}

impl Constrainer<'_> {
    fn chance(&mut self, percent: u32) -> bool {
        self.random.random_ratio(percent, 100)
    }

    /// `mandatory`, `min-elements`, `max-elements`, `unique`.
    fn add_constraint(&mut self, id: ItemId) {
        let may_require = self.may_require(id);
        let min = match may_require && self.chance(15) {
            true => self.random.random_range(1..=2),
            false => 0,
        };
        let max = match self.chance(22) {
            true => Some(self.random.random_range(2..=4)),
            false => None,
        };
        let requires = may_require && self.chance(22);
        let in_case = self
            .shape
            .around(id)
            .iter()
            .any(|&at| matches!(self.shape.items[at].kind, Kind::Case));
        match &mut self.shape.items[id].kind {
            Kind::Leaf {
                of,
                default: None,
                mandatory,
                is_key: false,
            } if !matches!(of, LeafType::SmallWithDefault) => {
                *mandatory = requires;
                if requires {
                    self.features.note("mandatory");
                }
                if requires && in_case {
                    self.features.note("mandatory in a case");
                }
            }
            Kind::AnyData { mandatory } => *mandatory = requires,
            Kind::Choice {
                default: None,
                mandatory,
            } => {
                *mandatory = requires;
                if requires {
                    self.features.note("choice mandatory");
                }
            }
            Kind::List { bounds, .. } => {
                (bounds.min, bounds.max) = (min, max);
                self.note_bounds(min, max);
                self.unique(id);
            }
            Kind::LeafList {
                bounds, defaults, ..
            } => {
                bounds.min = if defaults.is_empty() { min } else { 0 };
                bounds.max = max;
                let min = bounds.min;
                self.note_bounds(min, max);
            }
            _ => {}
        }
    }

    fn note_bounds(&mut self, min: u32, max: Option<u32>) {
        if min > 0 {
            self.features.note("min-elements");
        }
        if max.is_some() {
            self.features.note("max-elements");
        }
    }

    /// Whether a node may be mandatory: not in a default case, not in an augment of another module (RFC
    /// 7950 §7.9.3, §7.17), and at the top only rarely, because an empty datastore is then invalid.
    fn may_require(&mut self, id: ItemId) -> bool {
        let mut below = id;
        while let Some(around) = self.shape.items[below].parent {
            match &self.shape.items[around].kind {
                Kind::Container { presence: true } | Kind::List { .. } => return true,
                Kind::Choice { default, .. } if *default == Some(below) => return false,
                Kind::Augment if self.shape.items[around].module != 0 => return false,
                _ => {}
            }
            below = around;
        }
        self.chance(12)
    }

    fn unique(&mut self, list: ItemId) {
        for _ in 0..2 {
            if !self.chance(28) {
                return;
            }
            let inside = (0..self.shape.items.len()).filter(|&id| self.may_be_unique(list, id));
            let mut leaves: Vec<ItemId> = inside.collect();
            let mut chosen = Vec::new();
            for _ in 0..self.random.random_range(1..=2) {
                if leaves.is_empty() {
                    break;
                }
                let index = self.random.random_range(0..leaves.len());
                chosen.push(leaves.swap_remove(index));
            }
            if chosen.is_empty() {
                return;
            }
            self.note_unique(list, &chosen);
            let path = |&leaf: &ItemId| {
                let style = super::shape::Style::Relative;
                self.shape
                    .path(Some(list), leaf, style, &mut |_| String::new())
            };
            let text = chosen.iter().map(path).collect::<Vec<_>>().join(" ");
            if let Kind::List { unique, .. } = &mut self.shape.items[list].kind {
                unique.push(text);
            }
        }
    }

    fn note_unique(&mut self, list: ItemId, chosen: &[ItemId]) {
        self.features.note("unique");
        if chosen.len() > 1 {
            self.features.note("unique of several");
        }
        for &leaf in chosen {
            if self.shape.data_parent(leaf) != Some(list) {
                self.features.note("unique below");
            }
            for at in self.shape.around(leaf) {
                if at == list {
                    break;
                }
                self.shape.items[at].keeps_unconditional = true;
            }
        }
    }

    /// Whether a leaf may be in `unique`: a leaf of the list, possibly in containers. One with a default
    /// must be in use in every entry: libyang uses the default even if the leaf does not exist.
    fn may_be_unique(&self, list: ItemId, leaf: ItemId) -> bool {
        let Kind::Leaf {
            of,
            default,
            is_key,
            ..
        } = &self.shape.items[leaf].kind
        else {
            return false;
        };
        if matches!(of, LeafType::Empty)
            || *is_key
            || self.shape.items[leaf].module != self.shape.items[list].module
        {
            return false;
        }
        let has_default = default.is_some() || matches!(of, LeafType::SmallWithDefault);
        for at in self.shape.around(leaf).into_iter().skip(1) {
            match self.shape.items[at].kind {
                _ if at == list => return true,
                Kind::Container { presence } if !presence || !has_default => {}
                Kind::Uses { .. } => {}
                _ => return false,
            }
        }
        false
    }

    fn must(&mut self) {
        let data: Vec<ItemId> = (0..self.shape.items.len())
            .filter(|&id| self.shape.is_data(id) && !self.shape.is_key(id))
            .filter(|&id| self.shape.is_attached(id) && !self.shape.is_hidden(id))
            .collect();
        let entries = data
            .iter()
            .copied()
            .filter(|&id| matches!(self.shape.items[id].kind, Kind::List { by_user: true, .. }));
        let entries: Vec<ItemId> = entries.collect();
        let id = match !entries.is_empty() && self.chance(12) {
            true => pick(self.random, &entries),
            false => pick(self.random, &data),
        };
        let readable = data_of(self.shape, id);
        let (text, _) = self.write(id, Some(id), readable, true);
        let Some(text) = text else { return };
        self.features.note("must");
        self.features.note(match self.shape.items[id].kind {
            Kind::Container { presence: true } => "must on presence container",
            Kind::Container { presence: false } => "must on container",
            Kind::List { .. } => "must on list",
            Kind::LeafList { .. } => "must on leaf-list",
            _ => "must on leaf",
        });
        let app_tag = self.chance(30).then(|| {
            self.features.note("must app-tag");
            format!("tag-{id}")
        });
        let message = self.chance(30).then(|| format!("message {id}"));
        self.shape.items[id].musts.push(Must {
            text,
            message,
            app_tag,
            place: StatementPlace::Definition,
        });
    }

    fn when(&mut self) {
        let may = |&id: &ItemId| {
            let item = &self.shape.items[id];
            let is_used = self.shape.is_attached(id) && !self.shape.is_hidden(id);
            is_used && !self.shape.is_key(id) && !item.keeps_unconditional && item.when.is_none()
        };
        let candidates: Vec<ItemId> = (0..self.shape.items.len()).filter(may).collect();
        let id = pick(self.random, &candidates);
        let context = match self.shape.is_data(id) {
            true => Some(id),
            false => self.shape.data_parent(id),
        };
        let module = self.shape.items[id].module;
        let mut readable = data_of(self.shape, id);
        let top = self
            .shape
            .chain(id)
            .first()
            .map_or(module, |&top| self.shape.items[top].module);
        readable.retain(|&at| {
            // libyang completes the data of a module before it starts with the next one.
            let is_before = self.shape.items[self.shape.chain(at)[0]].module <= top;
            // Nor does it delete containers that exist only by default.
            let is_certain = !self.shape.is_np_container(at) && !self.may_come_by_default(at);
            is_before && is_certain && !self.shape.is_within(at, id)
        });
        // Mostly about near nodes, which exist more often.
        let near = context.and_then(|context| self.shape.data_parent(context));
        let is_near = |&at: &ItemId| self.shape.data_parent(at) == near || Some(at) == near;
        if readable.iter().any(is_near) && self.random.random_bool(0.6) {
            readable = readable.into_iter().filter(is_near).collect();
        }
        let (text, reads) = self.write(id, context, readable, false);
        let Some(text) = text else { return };
        self.shape.items[id].when = Some(text);
        self.shape.items[id].when_reads.clone_from(&reads);
        self.whens.push((id, reads));
        if self.is_circular(id) || self.has_nested_conditional_containers() {
            self.shape.items[id].when = None;
            self.whens.pop();
            return;
        }
        self.note_when(id);
    }

    fn note_when(&mut self, id: ItemId) {
        self.features.note("when");
        self.features.note(match self.shape.items[id].kind {
            Kind::Container { presence: true } => "when on presence container",
            Kind::Container { presence: false } => "when on container",
            Kind::List { .. } => "when on list",
            Kind::Leaf { .. } => "when on leaf",
            Kind::LeafList { .. } => "when on leaf-list",
            Kind::AnyData { .. } => "when on anydata",
            Kind::Choice { .. } => "when on choice",
            Kind::Case => "when on case",
            Kind::Uses { .. } => "when in uses",
            Kind::Augment => "when in augment",
        });
        let has_default = |id: ItemId| match &self.shape.items[id].kind {
            Kind::Leaf { of, default, .. } => {
                default.is_some() || matches!(of, LeafType::SmallWithDefault)
            }
            Kind::LeafList { defaults, .. } => !defaults.is_empty(),
            _ => false,
        };
        if has_default(id) {
            self.features.note("when with default");
        }
        let (_, reads) = self.whens.last().expect("it was added");
        if reads.iter().any(|&read| has_default(read)) {
            self.features.note("when reads default");
        }
        let is_conditional = |&read: &ItemId| {
            let mut around = self.shape.around(read).into_iter();
            around.any(|at| self.shape.items[at].when.is_some())
        };
        if reads.iter().any(is_conditional) {
            self.features.note("when reads when");
        }
    }

    fn write(
        &mut self,
        at: ItemId,
        context: Option<ItemId>,
        readable: Vec<ItemId>,
        may_use_wildcards: bool,
    ) -> (Option<String>, Vec<ItemId>) {
        let mut author = ExpressionWriter {
            random: self.random,
            shape: self.shape,
            features: self.features,
            at,
            context,
            readable,
            reads: Vec::new(),
            may_use_wildcards,
        };
        (author.expression(), author.reads)
    }

    /// Whether it is in a choice with a default case: its nodes then depend on the absence of others.
    fn may_come_by_default(&self, id: ItemId) -> bool {
        let mut around = self.shape.around(id).into_iter();
        around.any(|at| {
            matches!(
                self.shape.items[at].kind,
                Kind::Choice {
                    default: Some(_),
                    ..
                }
            )
        })
    }

    /// Whether a `when` depends on itself.
    fn is_circular(&self, id: ItemId) -> bool {
        let nodes_with_value = |read: ItemId| {
            let around = self.shape.around(read);
            around
                .into_iter()
                .filter(|&at| self.shape.items[at].when.is_some())
        };
        let mut found: Vec<ItemId> = Vec::new();
        let mut next = vec![id];
        while let Some(holder) = next.pop() {
            let reads = self.whens.iter().find(|(at, _)| *at == holder);
            let read = reads
                .into_iter()
                .flat_map(|(_, reads)| reads.iter().flat_map(|&read| nodes_with_value(read)));
            let around = nodes_with_value(holder).filter(|&at| at != holder);
            for dependency in read.chain(around) {
                if dependency == id {
                    return true;
                }
                if !found.contains(&dependency) {
                    found.push(dependency);
                    next.push(dependency);
                }
            }
        }
        false
    }

    /// libyang frees memory twice if a container without presence and with a condition contains another
    /// such container.
    fn has_nested_conditional_containers(&self) -> bool {
        let is_conditional = |id: ItemId| {
            // The conditions of a choice, case, augment or uses apply to its content.
            let mut around = self.shape.around(id).into_iter();
            let own = around.next().into_iter();
            let mut nodes_with_value = own.chain(around.take_while(|&at| !self.shape.is_data(at)));
            self.shape.is_np_container(id)
                && nodes_with_value.any(|at| self.shape.items[at].when.is_some())
        };
        (0..self.shape.items.len())
            .filter(|&id| is_conditional(id))
            .any(|id| {
                let mut outer = self.shape.data_parent(id);
                while let Some(at) = outer.filter(|&at| self.shape.is_np_container(at)) {
                    if is_conditional(at) {
                        return true;
                    }
                    outer = self.shape.data_parent(at);
                }
                false
            })
    }
}

/// The data nodes that the expressions of an item can name.
fn data_of(shape: &Shape, at: ItemId) -> Vec<ItemId> {
    let all = 0..shape.items.len();
    all.filter(|&id| shape.is_data(id) && shape.sees(at, id))
        .filter(|&id| shape.is_attached(id) && !shape.is_hidden(id))
        .collect()
}
