//! A schema under construction: an arena of items, and the paths between them.

use rand::Rng;
use rand::rngs::StdRng;

use super::files::File;

/// The names of the modules that have data.
pub(super) const MODULES: [&str; 2] = ["m", "n"];

/// The index of an item.
pub(super) type ItemId = usize;

/// The type of a leaf.
#[derive(Clone, Debug)]
pub(super) enum LeafType {
    Enumeration,
    /// `uint8` from 0 to 5.
    Small,
    /// A typedef of `Small`, with a default.
    SmallWithDefault,
    /// `uint8` from 0 to 2.
    Tiny,
    /// `uint16`.
    Number,
    Decimal,
    Word,
    /// Any string.
    Text,
    Boolean,
    Identity,
    Bits,
    Empty,
    /// A number or a word.
    Union,
    Leafref(Reference),
    /// A number or a reference.
    UnionWithLeafref(Reference),
    InstanceIdentifier {
        is_required: bool,
    },
}

/// A leafref.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    pub(super) target: ItemId,
    pub(super) path: String,
    pub(super) is_required: bool,
}

/// A `must`.
#[derive(Clone, Debug)]
pub(super) struct Must {
    pub(super) text: String,
    pub(super) message: Option<String>,
    pub(super) app_tag: Option<String>,
    pub(super) place: StatementPlace,
}

/// The place of a constraint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum StatementPlace {
    /// In the definition of the node.
    #[default]
    Definition,
    /// In the `refine` of the containing `uses`.
    Refine,
    /// In a `deviate add` of module `d`.
    Added,
    /// In a `deviate replace` of module `d`; the definition has another value.
    Replaced,
}

/// A statement without effect on data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Noise {
    /// A mandatory leaf that a deviation removes.
    NotSupported,
    /// A mandatory leaf whose feature is off.
    FeatureOff,
    /// A `must` that is always false and that a deviation deletes.
    DeletedMust,
}

/// The bounds of the number of entries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    pub(super) min: u32,
    pub(super) max: Option<u32>,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Container {
        presence: bool,
    },
    List {
        keys: Vec<ItemId>,
        by_user: bool,
        bounds: Bounds,
        unique: Vec<String>,
    },
    Leaf {
        of: LeafType,
        default: Option<String>,
        mandatory: bool,
        is_key: bool,
    },
    LeafList {
        of: LeafType,
        by_user: bool,
        bounds: Bounds,
        defaults: Vec<String>,
    },
    AnyData {
        mandatory: bool,
    },
    Choice {
        default: Option<ItemId>,
        mandatory: bool,
    },
    Case,
    /// The use of a grouping.
    Uses {
        /// The file that defines it.
        file: File,
    },
    /// An augment of its parent.
    Augment,
}

#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) name: String,
    /// An index into [`MODULES`].
    pub(super) module: usize,
    pub(super) kind: Kind,
    pub(super) parent: Option<ItemId>,
    pub(super) children: Vec<ItemId>,
    pub(super) when: Option<String>,
    /// The items that the `when` reads.
    pub(super) when_reads: Vec<ItemId>,
    pub(super) musts: Vec<Must>,
    /// The place of `mandatory`, defaults, `unique` and the bounds.
    pub(super) place: StatementPlace,
    /// Additional statements without effect.
    pub(super) noise: Vec<Noise>,
    /// Whether it has an `if-feature` that is true.
    pub(super) has_feature: bool,
    /// Whether it has an `if-feature` that is false.
    pub(super) is_off: bool,
    /// Whether a deviation removes it.
    pub(super) is_unsupported: bool,
    /// `config false`.
    pub(super) is_state: bool,
    /// Whether names of its own module are written without prefix in its texts.
    pub(super) is_unprefixed: bool,
    /// Whether it is a top node in the submodule.
    pub(super) is_in_submodule: bool,
    /// Must not get a `when`: the meaning of a `unique` would be ambiguous.
    pub(super) keeps_unconditional: bool,
}

/// All items.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    pub(super) items: Vec<Item>,
    pub(super) roots: Vec<ItemId>,
    /// The number of revisions of module `m`.
    pub(super) revision: u32,
    /// Whether the identity `dog` is in the module of the other identities, not in its own.
    pub(super) has_dog_in_types: bool,
}

/// The form of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Relative,
    Absolute,
}

impl Shape {
    /// Adds an item to a parent, or at the top.
    pub(super) fn add(
        &mut self,
        parent: Option<ItemId>,
        module: usize,
        name: String,
        kind: Kind,
    ) -> ItemId {
        let id = self.items.len();
        self.items.push(Item {
            name,
            module,
            kind,
            parent,
            children: Vec::new(),
            when: None,
            when_reads: Vec::new(),
            musts: Vec::new(),
            place: StatementPlace::Definition,
            noise: Vec::new(),
            has_feature: false,
            is_off: false,
            is_unsupported: false,
            is_state: false,
            is_unprefixed: false,
            is_in_submodule: false,
            keeps_unconditional: false,
        });
        match parent {
            Some(parent) => self.items[parent].children.push(id),
            None => self.roots.push(id),
        }
        id
    }

    /// Whether it has instances; choices, for example, have none.
    pub(super) fn is_data(&self, id: ItemId) -> bool {
        !matches!(
            self.items[id].kind,
            Kind::Choice { .. } | Kind::Case | Kind::Uses { .. } | Kind::Augment
        )
    }

    pub(super) fn is_list(&self, id: ItemId) -> bool {
        matches!(self.items[id].kind, Kind::List { .. })
    }

    pub(super) fn is_key(&self, id: ItemId) -> bool {
        matches!(self.items[id].kind, Kind::Leaf { is_key: true, .. })
    }

    pub(super) fn is_np_container(&self, id: ItemId) -> bool {
        matches!(self.items[id].kind, Kind::Container { presence: false })
    }

    /// Whether it is part of the schema.
    pub(super) fn is_attached(&self, id: ItemId) -> bool {
        let around = self.around(id);
        let is_child = |pair: &[ItemId]| self.items[pair[1]].children.contains(&pair[0]);
        around.windows(2).all(is_child) && around.last().is_some_and(|top| self.roots.contains(top))
    }

    /// The type of a leaf or leaf-list.
    pub(super) fn of(&self, id: ItemId) -> Option<&LeafType> {
        match &self.items[id].kind {
            Kind::Leaf { of, .. } | Kind::LeafList { of, .. } => Some(of),
            _ => None,
        }
    }

    /// The type of the values: for a leafref, that of the target.
    pub(super) fn base(&self, id: ItemId) -> &LeafType {
        match self.of(id) {
            Some(LeafType::Leafref(reference)) => self.base(reference.target),
            Some(of) => of,
            None => &LeafType::Empty,
        }
    }

    /// The parent data node.
    pub(super) fn data_parent(&self, id: ItemId) -> Option<ItemId> {
        let mut parent = self.items[id].parent;
        while let Some(around) = parent {
            if self.is_data(around) {
                return Some(around);
            }
            parent = self.items[around].parent;
        }
        None
    }

    /// The data nodes from the top to an item, including the item if it is one.
    pub(super) fn chain(&self, id: ItemId) -> Vec<ItemId> {
        let mut chain = Vec::new();
        let mut next = Some(id);
        while let Some(at) = next {
            if self.is_data(at) {
                chain.push(at);
            }
            next = self.items[at].parent;
        }
        chain.reverse();
        chain
    }

    /// The item and all its ancestors up to the top.
    pub(super) fn around(&self, id: ItemId) -> Vec<ItemId> {
        let mut around = vec![id];
        while let Some(parent) = self.items[*around.last().expect("itself")].parent {
            around.push(parent);
        }
        around
    }

    pub(super) fn data_children(&self, id: Option<ItemId>) -> Vec<ItemId> {
        let children = match id {
            Some(id) => &self.items[id].children,
            None => &self.roots,
        };
        let mut found = Vec::new();
        for &child in children {
            match self.is_data(child) {
                true => found.push(child),
                false => found.extend(self.data_children(Some(child))),
            }
        }
        found
    }

    /// Whether `id` is `outer` or one of its descendants.
    pub(super) fn is_within(&self, id: ItemId, outer: ItemId) -> bool {
        self.around(id).contains(&outer)
    }

    /// The name with its module, in the notation of `files`.
    pub(super) fn name(&self, id: ItemId) -> String {
        let item = &self.items[id];
        format!("{{{}}}{}", MODULES[item.module], item.name)
    }

    /// The steps from `outer` (excluded) down to an item, with the predicates of `predicate`.
    fn down(
        &self,
        outer: Option<ItemId>,
        to: ItemId,
        predicate: &mut dyn FnMut(ItemId) -> String,
    ) -> Vec<String> {
        let chain = self.chain(to);
        let from = chain.iter().position(|&at| Some(at) == outer);
        let below = &chain[from.map_or(0, |index| index + 1)..];
        let step = |&at: &ItemId| format!("{}{}", self.name(at), predicate(at));
        below.iter().map(step).collect()
    }

    /// The path from a context node (a data node; `None` for the root) to a data node.
    pub(super) fn path(
        &self,
        context: Option<ItemId>,
        to: ItemId,
        style: Style,
        predicate: &mut dyn FnMut(ItemId) -> String,
    ) -> String {
        let Some(context) = context.filter(|_| style == Style::Relative) else {
            return format!("/{}", self.down(None, to, predicate).join("/"));
        };
        if context == to {
            return ".".to_owned();
        }
        let (mine, theirs) = (self.chain(context), self.chain(to));
        let common = mine.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
        let mut steps = vec!["..".to_owned(); mine.len() - common];
        let outer = common.checked_sub(1).map(|index| mine[index]);
        steps.extend(self.down(outer, to, predicate));
        steps.join("/")
    }

    /// The lists on the way down of a path from the context to a node.
    pub(super) fn lists_between(&self, context: Option<ItemId>, to: ItemId) -> Vec<ItemId> {
        let mine = context
            .map(|context| self.chain(context))
            .unwrap_or_default();
        let theirs = self.chain(to);
        let passed = theirs
            .iter()
            .filter(|at| !mine.contains(at) && self.is_list(**at));
        passed.copied().collect()
    }
}

/// A random element.
pub(super) fn pick<T: Clone>(random: &mut StdRng, from: &[T]) -> T {
    from[random.random_range(0..from.len())].clone()
}

/// A value of a type that is not a reference.
pub(super) fn literal(random: &mut StdRng, of: &LeafType) -> String {
    let texts: &[&str] = match of {
        LeafType::Enumeration => &["red", "green", "blue"],
        LeafType::Tiny => &["0", "1", "2"],
        LeafType::Number => &["0", "5", "300"],
        LeafType::Text => &["a", "ab", "xyz"],
        LeafType::Small | LeafType::SmallWithDefault => &["0", "1", "2", "3", "4", "5"],
        LeafType::Decimal => &["0.0", "0.5", "1.5", "2.0"],
        LeafType::Word => &["a", "b", "ab", "ba"],
        LeafType::Boolean => &["true", "false"],
        LeafType::Identity => &["{t}cat", "{t}lion", "{i}dog"],
        LeafType::Bits => &["b0", "b0 b1", "b2", "b1 b2"],
        LeafType::Union | LeafType::UnionWithLeafref(_) => &["0", "2", "a", "b"],
        LeafType::Empty | LeafType::Leafref(_) | LeafType::InstanceIdentifier { .. } => &[""],
    };
    pick(random, texts).to_owned()
}
