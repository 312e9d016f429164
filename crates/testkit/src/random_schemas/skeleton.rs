//! Generates the skeleton of a schema: containers, lists, choices and leaves with plain types.

use rand::Rng;
use rand::rngs::StdRng;

use super::features::Features;
use super::files::File;
use super::shape::{Bounds, ItemId, Kind, LeafType, Shape, literal, pick};

/// Approximate maximum number of items.
const ITEMS_MAX: usize = 34;

/// Maximum depth of data nodes.
const DEPTH_MAX: usize = 4;

/// Generates a skeleton.
pub(super) fn build_skeleton(random: &mut StdRng, features: &mut Features) -> Shape {
    let items_max = random.random_range(10..=ITEMS_MAX);
    let mut grower = SkeletonBuilder {
        random,
        features,
        shape: Shape::default(),
        items_max,
    };
    grower.top(0);
    grower.augments();
    grower.shape
}

struct SkeletonBuilder<'a> {
    random: &'a mut StdRng,
    features: &'a mut Features,
    shape: Shape,
    items_max: usize,
}

impl SkeletonBuilder<'_> {
    fn chance(&mut self, percent: u32) -> bool {
        self.random.random_ratio(percent, 100)
    }

    fn top(&mut self, module: usize) {
        for _ in 0..self.random.random_range(1..=3) {
            match self.random.random_range(0..10) {
                0 => self.leaf(None, module),
                1 => self.leaf_list(None, module),
                2..5 => self.list(None, module, 0),
                _ => self.container(None, module, 0),
            }
        }
        // At least one list and one container, so that expressions have something to read.
        self.list(None, module, 0);
        self.container(None, module, 0);
    }

    /// Moves some top nodes of `m` to the submodule.
    fn place(&mut self, id: ItemId) {
        let item = &self.shape.items[id];
        if item.parent.is_none() && item.module == 0 && self.chance(20) {
            self.features.note("submodule");
            self.shape.items[id].is_in_submodule = true;
        }
    }

    fn name(&self, letter: &str) -> String {
        format!("{letter}{}", self.shape.items.len())
    }

    fn fill(&mut self, parent: ItemId, module: usize, depth: usize) {
        let count = match depth {
            0 => self.random.random_range(3..=7),
            _ => self.random.random_range(1..=4),
        };
        for _ in 0..count {
            if self.shape.items.len() >= self.items_max {
                return;
            }
            self.child(parent, module, depth);
        }
    }

    fn child(&mut self, parent: ItemId, module: usize, depth: usize) {
        let is_deep = depth >= DEPTH_MAX;
        match self.random.random_range(0..100) {
            0..42 => self.leaf(Some(parent), module),
            42..52 => self.leaf_list(Some(parent), module),
            52..66 if !is_deep => self.list(Some(parent), module, depth + 1),
            66..80 if !is_deep => self.container(Some(parent), module, depth + 1),
            80..90 if !is_deep => self.choice(parent, module, depth + 1),
            90..96 if !is_deep => self.uses(parent, module, depth + 1),
            96 => {
                self.features.note("anydata");
                let name = self.name("y");
                let kind = Kind::AnyData { mandatory: false };
                self.shape.add(Some(parent), module, name, kind);
            }
            _ => self.leaf(Some(parent), module),
        }
    }

    fn container(&mut self, parent: Option<ItemId>, module: usize, depth: usize) {
        let presence = self.chance(30);
        self.features.note(match presence {
            true => "container with presence",
            false => "container",
        });
        let name = self.name("c");
        let id = self
            .shape
            .add(parent, module, name, Kind::Container { presence });
        self.place(id);
        self.fill(id, module, depth);
    }

    fn list(&mut self, parent: Option<ItemId>, module: usize, depth: usize) {
        let by_user = self.chance(35);
        self.features.note(match by_user {
            true => "list ordered by user",
            false => "list",
        });
        if depth > 0 {
            self.features.note("list in a list");
        }
        let name = self.name("l");
        let kind = Kind::List {
            keys: Vec::new(),
            by_user,
            bounds: Bounds::default(),
            unique: Vec::new(),
        };
        let id = self.shape.add(parent, module, name, kind);
        self.place(id);
        let count = if self.chance(25) { 2 } else { 1 };
        if count > 1 {
            self.features.note("key of several leaves");
        }
        let names = ["k", "name", "id"];
        let first = self.random.random_range(0..names.len());
        let mut made = Vec::new();
        for index in 0..count {
            let types = [
                LeafType::Word,
                LeafType::Word,
                LeafType::Small,
                LeafType::Small,
                LeafType::Enumeration,
                LeafType::Identity,
            ];
            let of = pick(self.random, &types);
            let name = names[(first + index) % names.len()].to_owned();
            made.push(self.shape.add(Some(id), module, name, leaf_kind(of, true)));
        }
        if let Kind::List { keys, .. } = &mut self.shape.items[id].kind {
            *keys = made;
        }
        self.fill(id, module, depth);
    }

    fn plain_type(&mut self) -> LeafType {
        let of = pick(self.random, plain_types());
        self.features.note(match of {
            LeafType::Enumeration => "enumeration",
            LeafType::Decimal => "decimal64",
            LeafType::Identity => "identityref",
            LeafType::Bits => "bits",
            LeafType::Empty => "empty",
            LeafType::Union => "union",
            LeafType::SmallWithDefault => "typedef default",
            _ => return of,
        });
        of
    }

    fn leaf(&mut self, parent: Option<ItemId>, module: usize) {
        let of = self.plain_type();
        let mut kind = leaf_kind(of.clone(), false);
        let may_default = !matches!(of, LeafType::Empty | LeafType::SmallWithDefault);
        if may_default && self.chance(25) {
            self.features.note("default");
            if let Kind::Leaf { default, .. } = &mut kind {
                *default = Some(literal(self.random, &of));
            }
        }
        let name = self.name("f");
        self.shape.add(parent, module, name, kind);
    }

    fn leaf_list(&mut self, parent: Option<ItemId>, module: usize) {
        let of = match self.plain_type() {
            LeafType::Empty | LeafType::SmallWithDefault | LeafType::Boolean => LeafType::Word,
            of => of,
        };
        let by_user = self.chance(30);
        self.features.note(match by_user {
            true => "leaf-list ordered by user",
            false => "leaf-list",
        });
        let mut defaults = Vec::new();
        if self.chance(25) {
            self.features.note("leaf-list default");
            for _ in 0..self.random.random_range(1..=2) {
                let value = literal(self.random, &of);
                if !defaults.contains(&value) {
                    defaults.push(value);
                }
            }
        }
        let name = self.name("v");
        let bounds = Bounds::default();
        self.shape.add(
            parent,
            module,
            name,
            Kind::LeafList {
                of,
                by_user,
                bounds,
                defaults,
            },
        );
    }

    fn choice(&mut self, parent: ItemId, module: usize, depth: usize) {
        self.features.note("choice");
        if matches!(self.shape.items[parent].kind, Kind::Case) {
            self.features.note("choice in a choice");
        }
        let name = self.name("h");
        let kind = Kind::Choice {
            default: None,
            mandatory: false,
        };
        let id = self.shape.add(Some(parent), module, name, kind);
        for _ in 0..self.random.random_range(2..=3) {
            if self.chance(35) {
                self.features.note("shorthand case");
                match self.random.random_range(0..4) {
                    0 => self.leaf_list(Some(id), module),
                    1 => self.container(Some(id), module, depth + 1),
                    _ => self.leaf(Some(id), module),
                }
                continue;
            }
            self.features.note("case");
            let name = self.name("s");
            let case = self.shape.add(Some(id), module, name, Kind::Case);
            self.leaf(Some(case), module);
            for _ in 0..self.random.random_range(0..=2) {
                self.child(case, module, depth);
            }
        }
        if self.chance(35) {
            self.features.note("choice default");
            let case = pick(self.random, &self.shape.items[id].children.clone());
            if let Kind::Choice { default, .. } = &mut self.shape.items[id].kind {
                *default = Some(case);
            }
        }
    }

    fn uses(&mut self, parent: ItemId, module: usize, depth: usize) {
        self.features.note("uses");
        let name = self.name("g");
        let file = self.file_of_grouping(parent);
        let id = self
            .shape
            .add(Some(parent), module, name, Kind::Uses { file });
        for _ in 0..self.random.random_range(1..=3) {
            self.child(id, module, depth);
        }
    }

    /// A file whose groupings the surrounding file can use.
    fn file_of_grouping(&mut self, parent: ItemId) -> File {
        let around = match self.shape.items[parent].kind {
            Kind::Uses { file } => file,
            _ => self.shape.file(parent),
        };
        let files: &[File] = match around {
            File::First => &[File::Groupings, File::First, File::Submodule],
            File::Second => &[File::Groupings, File::First, File::Second],
            File::Submodule => &[File::Groupings, File::Submodule],
            _ => &[File::Groupings],
        };
        pick(self.random, files)
    }

    /// Adds augments, of the same module and of another one.
    fn augments(&mut self) {
        let has_second = self.chance(35);
        for module in 0..=usize::from(has_second) {
            if module == 0 && self.chance(70) {
                continue;
            }
            let is_target = |&id: &ItemId| {
                let is_inner = matches!(
                    self.shape.items[id].kind,
                    Kind::Container { .. } | Kind::List { .. }
                );
                let is_plain = self
                    .shape
                    .around(id)
                    .iter()
                    .all(|&at| self.shape.is_data(at));
                is_inner && is_plain
            };
            let targets: Vec<ItemId> = (0..self.shape.items.len()).filter(is_target).collect();
            let target = pick(self.random, &targets);
            self.features.note("augment");
            if module == 1 {
                self.features.note("augment of another module");
            }
            let name = self.name("a");
            let id = self.shape.add(Some(target), module, name, Kind::Augment);
            self.items_max = self.items_max.max(self.shape.items.len() + 4);
            for _ in 0..self.random.random_range(1..=3) {
                self.child(id, module, DEPTH_MAX - 1);
            }
        }
        if has_second && self.chance(60) {
            self.items_max = self.items_max.max(self.shape.items.len() + 5);
            self.container(None, 1, 1);
        }
    }
}

/// The types of leaves that are not references; frequent ones are repeated.
pub(super) fn plain_types() -> &'static [LeafType] {
    &[
        LeafType::Enumeration,
        LeafType::Enumeration,
        LeafType::Small,
        LeafType::Small,
        LeafType::Small,
        LeafType::Word,
        LeafType::Word,
        LeafType::Word,
        LeafType::SmallWithDefault,
        LeafType::Decimal,
        LeafType::Boolean,
        LeafType::Boolean,
        LeafType::Identity,
        LeafType::Bits,
        LeafType::Empty,
        LeafType::Union,
    ]
}

/// Adds a node or a small subtree to a container or list.
pub(super) fn add_nodes(
    random: &mut StdRng,
    shape: &mut Shape,
    features: &mut Features,
    parent: ItemId,
) {
    let mut grower = SkeletonBuilder {
        random,
        features,
        shape: std::mem::take(shape),
        items_max: usize::MAX,
    };
    let module = grower.shape.items[parent].module;
    grower.child(parent, module, DEPTH_MAX - 1);
    *shape = grower.shape;
}

fn leaf_kind(of: LeafType, is_key: bool) -> Kind {
    Kind::Leaf {
        of,
        default: None,
        mandatory: false,
        is_key,
    }
}

/// libyang ignores the defaults of a case that exists only by a choice in it, so these are removed.
pub(super) fn remove_defaults_of_nested_choices(shape: &mut Shape) {
    for id in 0..shape.items.len() {
        let is_choice = matches!(shape.items[id].kind, Kind::Choice { .. });
        let mut around = shape.around(id).into_iter().skip(1);
        let outer = around.find(|&at| !matches!(shape.items[at].kind, Kind::Uses { .. }));
        let Some(case) = outer.filter(|&at| is_choice && !shape.is_data(at)) else {
            continue;
        };
        for sibling in shape.data_children(Some(case)) {
            if !shape.is_within(sibling, id) {
                remove_defaults(&mut shape.items[sibling].kind);
            }
        }
    }
}

fn remove_defaults(kind: &mut Kind) {
    match kind {
        Kind::Container { presence } => *presence = true,
        Kind::Leaf { of, default, .. } => {
            *default = None;
            if matches!(of, LeafType::SmallWithDefault) {
                *of = LeafType::Small;
            }
        }
        Kind::LeafList { defaults, .. } => defaults.clear(),
        _ => {}
    }
}
