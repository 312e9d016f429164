//! Random changes of a schema, as in new revisions of its modules.

use rand::Rng;
use rand::rngs::StdRng;

use super::constraints::add_condition;
use super::features::Features;
use super::render::GeneratedSchema;
use super::shape::{Bounds, ItemId, Kind, LeafType, Shape, StatementPlace, literal, pick};
use super::skeleton::{add_nodes, plain_types};

/// Maximum number of edits in one change.
const EDITS_MAX: usize = 5;

/// One edit of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum SchemaEdit {
    AddNode,
    RemoveNode,
    Rename,
    Retype,
    Widen,
    Narrow,
    MoveIntoContainer,
    AddKey,
    RemoveKey,
    ReorderKeys,
    ListToContainer,
    ContainerToList,
    LeafToLeafList,
    LeafListToLeaf,
    FlipOrder,
    ChangeDefault,
    FlipMandatory,
    FlipPresence,
    AddCondition,
    RemoveCondition,
    ChangeBounds,
    MoveIntoCase,
    MoveOutOfCase,
    TurnFeatureOff,
    NotSupported,
    MoveIdentity,
    FlipConfig,
    RemoveAugment,
    Revise,
}

impl SchemaEdit {
    /// All of them.
    pub const ALL: [Self; 29] = [
        Self::AddNode,
        Self::RemoveNode,
        Self::Rename,
        Self::Retype,
        Self::Widen,
        Self::Narrow,
        Self::MoveIntoContainer,
        Self::AddKey,
        Self::RemoveKey,
        Self::ReorderKeys,
        Self::ListToContainer,
        Self::ContainerToList,
        Self::LeafToLeafList,
        Self::LeafListToLeaf,
        Self::FlipOrder,
        Self::ChangeDefault,
        Self::FlipMandatory,
        Self::FlipPresence,
        Self::AddCondition,
        Self::RemoveCondition,
        Self::ChangeBounds,
        Self::MoveIntoCase,
        Self::MoveOutOfCase,
        Self::TurnFeatureOff,
        Self::NotSupported,
        Self::MoveIdentity,
        Self::FlipConfig,
        Self::RemoveAugment,
        Self::Revise,
    ];
}

impl GeneratedSchema {
    /// Applies one to five random edits. Returns the new schema and the edits. Conditions, references and
    /// `unique` statements that name removed nodes are removed too, so libyang accepts most of the results.
    pub fn evolved(&self, random: &mut StdRng) -> (Self, Vec<SchemaEdit>) {
        let mut evolved = self.clone();
        let count = random.random_range(1..=EDITS_MAX);
        let mut edits = Vec::new();
        while edits.len() < count {
            let edit = pick(random, &SchemaEdit::ALL);
            let mut evolver = Evolver {
                random,
                features: &mut evolved.features,
                shape: &mut evolved.shape,
            };
            if evolver.apply(edit).is_some() {
                edits.push(edit);
            }
        }
        (evolved, edits)
    }
}

struct Evolver<'a> {
    random: &'a mut StdRng,
    features: &'a mut Features,
    shape: &'a mut Shape,
}

impl Evolver<'_> {
    /// Applies an edit; `None` if there is no suitable item.
    fn apply(&mut self, edit: SchemaEdit) -> Option<()> {
        match edit {
            SchemaEdit::AddNode => self.add_node(),
            SchemaEdit::RemoveNode => self.remove(|shape, id| shape.is_data(id)),
            SchemaEdit::RemoveAugment => {
                self.remove(|shape, id| matches!(shape.items[id].kind, Kind::Augment))
            }
            SchemaEdit::Rename => self.rename(),
            SchemaEdit::Retype => self.retype(),
            SchemaEdit::Widen | SchemaEdit::Narrow => self.resize(edit),
            SchemaEdit::MoveIntoContainer => self.move_into_container(),
            SchemaEdit::AddKey | SchemaEdit::RemoveKey | SchemaEdit::ReorderKeys => {
                self.change_keys(edit)
            }
            SchemaEdit::ListToContainer => self.list_to_container(),
            SchemaEdit::ContainerToList => self.container_to_list(),
            SchemaEdit::LeafToLeafList | SchemaEdit::LeafListToLeaf => self.leaf_or_list(edit),
            SchemaEdit::MoveIntoCase => self.move_into_case(),
            SchemaEdit::MoveOutOfCase => self.move_out_of_case(),
            SchemaEdit::AddCondition => add_condition(self.random, self.shape, self.features),
            SchemaEdit::RemoveCondition => self.remove_condition(),
            SchemaEdit::TurnFeatureOff | SchemaEdit::NotSupported | SchemaEdit::FlipConfig => {
                self.hide(edit)
            }
            SchemaEdit::MoveIdentity => {
                self.shape.has_dog_in_types = !self.shape.has_dog_in_types;
                Some(())
            }
            SchemaEdit::Revise => {
                self.shape.revision += 1;
                Some(())
            }
            SchemaEdit::FlipOrder
            | SchemaEdit::ChangeDefault
            | SchemaEdit::FlipMandatory
            | SchemaEdit::FlipPresence
            | SchemaEdit::ChangeBounds => self.change_statement(edit),
        }
    }

    /// A random item that is part of the schema and fits.
    fn random_item(&mut self, fits: impl Fn(&Shape, ItemId) -> bool) -> Option<ItemId> {
        let all = 0..self.shape.items.len();
        let fitting: Vec<ItemId> = all
            .filter(|&id| self.shape.is_attached(id) && fits(self.shape, id))
            .collect();
        match fitting.is_empty() {
            true => None,
            false => Some(pick(self.random, &fitting)),
        }
    }

    fn fresh_name(&self, letter: &str) -> String {
        format!("{letter}{}", self.shape.items.len())
    }

    fn add_node(&mut self) -> Option<()> {
        let parent = self.random_item(|shape, id| {
            matches!(
                shape.items[id].kind,
                Kind::Container { .. } | Kind::List { .. }
            )
        })?;
        let first = self.shape.items.len();
        add_nodes(self.random, self.shape, self.features, parent);
        if self.random.random_ratio(1, 3)
            && let Kind::Leaf {
                default: None,
                mandatory,
                of,
                ..
            } = &mut self.shape.items[first].kind
            && !matches!(of, LeafType::SmallWithDefault)
        {
            *mandatory = true;
        }
        Some(())
    }

    fn remove(&mut self, fits: fn(&Shape, ItemId) -> bool) -> Option<()> {
        let id = self.random_item(|shape, id| {
            fits(shape, id) && !shape.is_key(id) && shape.is_removable(id)
        })?;
        self.shape.remove_references_to(id);
        self.shape.detach(id);
        Some(())
    }

    fn rename(&mut self) -> Option<()> {
        let id = self.random_item(|shape, id| shape.is_data(id))?;
        self.shape.remove_named_constraints(&[id]);
        self.shape.items[id].name = self.fresh_name("r");
        self.shape.refresh_references(&[id]);
        Some(())
    }

    fn retype(&mut self) -> Option<()> {
        let id = self.random_item(|shape, id| shape.of(id).is_some())?;
        let of = pick(self.random, plain_types());
        let is_entry =
            self.shape.is_key(id) || matches!(self.shape.items[id].kind, Kind::LeafList { .. });
        if is_entry
            && matches!(
                of,
                LeafType::Empty | LeafType::SmallWithDefault | LeafType::Boolean
            )
        {
            return None;
        }
        self.shape.remove_references_to(id);
        self.shape.set_type(id, of);
        Some(())
    }

    /// Changes to a type with more values, or with fewer.
    fn resize(&mut self, edit: SchemaEdit) -> Option<()> {
        let other = move |of: &LeafType| match (edit, of) {
            (SchemaEdit::Widen, LeafType::Small) => Some(LeafType::Number),
            (SchemaEdit::Widen, LeafType::Word) => Some(LeafType::Text),
            (SchemaEdit::Narrow, LeafType::Number | LeafType::Union) => Some(LeafType::Small),
            (SchemaEdit::Narrow, LeafType::Text) => Some(LeafType::Word),
            (SchemaEdit::Narrow, LeafType::Small) => Some(LeafType::Tiny),
            _ => None,
        };
        let id = self.random_item(|shape, id| shape.of(id).and_then(other).is_some())?;
        let of = self.shape.of(id).and_then(other)?;
        self.shape.remove_references_to(id);
        self.shape.set_type(id, of);
        Some(())
    }

    fn move_into_container(&mut self) -> Option<()> {
        let id = self.random_item(|shape, id| {
            shape.is_data(id) && !shape.is_key(id) && shape.is_removable(id)
        })?;
        self.shape.remove_named_constraints(&self.shape.subtree(id));
        let name = self.fresh_name("w");
        let (parent, module) = (self.shape.items[id].parent, self.shape.items[id].module);
        let is_in_submodule = std::mem::take(&mut self.shape.items[id].is_in_submodule);
        let presence = self.random.random_ratio(1, 3);
        self.shape.detach(id);
        let around = self
            .shape
            .add(parent, module, name, Kind::Container { presence });
        self.shape.items[around].is_in_submodule = is_in_submodule;
        self.shape.attach(id, around);
        self.shape.refresh_references(&[id]);
        Some(())
    }

    fn change_keys(&mut self, edit: SchemaEdit) -> Option<()> {
        let least = match edit {
            SchemaEdit::AddKey => 1,
            _ => 2,
        };
        let list = self.random_item(|shape, id| shape.keys(id).len() >= least)?;
        let mut keys = self.shape.keys(list).to_vec();
        match edit {
            SchemaEdit::AddKey => {
                let module = self.shape.items[list].module;
                let (name, of) = (
                    self.fresh_name("k"),
                    pick(self.random, &[LeafType::Word, LeafType::Small]),
                );
                let key = self.shape.add(Some(list), module, name, Kind::key(of));
                keys.push(key);
            }
            SchemaEdit::RemoveKey => {
                let key = keys.swap_remove(self.random.random_range(0..keys.len()));
                self.shape
                    .remove_named_constraints(&self.shape.subtree(list));
                self.shape.make_ordinary(key);
            }
            _ => keys.reverse(),
        }
        if let Kind::List { keys: old, .. } = &mut self.shape.items[list].kind {
            *old = keys;
        }
        Some(())
    }

    fn list_to_container(&mut self) -> Option<()> {
        let list = self.random_item(Shape::is_list)?;
        self.shape
            .remove_named_constraints(&self.shape.subtree(list));
        for key in self.shape.keys(list).to_vec() {
            self.shape.make_ordinary(key);
        }
        let presence = self.random.random_bool(0.5);
        self.shape.items[list].kind = Kind::Container { presence };
        self.shape.refresh_references(&[list]);
        Some(())
    }

    fn container_to_list(&mut self) -> Option<()> {
        let container = self.random_item(|shape, id| {
            matches!(shape.items[id].kind, Kind::Container { .. }) && !shape.is_key(id)
        })?;
        self.shape
            .remove_named_constraints(&self.shape.subtree(container));
        let module = self.shape.items[container].module;
        let name = self.fresh_name("k");
        let key = self
            .shape
            .add(Some(container), module, name, Kind::key(LeafType::Word));
        self.shape.items[container].kind = Kind::List {
            keys: vec![key],
            by_user: self.random.random_bool(0.5),
            bounds: Bounds::default(),
            unique: Vec::new(),
        };
        self.shape.refresh_references(&[container]);
        Some(())
    }

    fn leaf_or_list(&mut self, edit: SchemaEdit) -> Option<()> {
        let is_leaf = edit == SchemaEdit::LeafToLeafList;
        let id = self.random_item(|shape, id| match &shape.items[id].kind {
            Kind::Leaf { of, is_key, .. } => {
                is_leaf && !is_key && !matches!(of, LeafType::Empty | LeafType::SmallWithDefault)
            }
            Kind::LeafList { .. } => !is_leaf,
            _ => false,
        })?;
        self.shape.remove_named_constraints(&[id]);
        let of = self.shape.of(id)?.clone();
        self.shape.items[id].kind = match is_leaf {
            true => Kind::LeafList {
                of,
                by_user: self.random.random_bool(0.5),
                bounds: Bounds::default(),
                defaults: Vec::new(),
            },
            false => Kind::Leaf {
                of,
                default: None,
                mandatory: false,
                is_key: false,
            },
        };
        Some(())
    }

    fn move_into_case(&mut self) -> Option<()> {
        let case = self.random_item(|shape, id| matches!(shape.items[id].kind, Kind::Case))?;
        let around = self.shape.data_parent(case);
        let module = self.shape.items[case].module;
        let id = self.random_item(|shape, id| {
            let item = &shape.items[id];
            item.module == module
                && item.parent == around
                && matches!(
                    item.kind,
                    Kind::Leaf { is_key: false, .. } | Kind::Container { .. }
                )
        })?;
        self.relocate(id, case)
    }

    fn move_out_of_case(&mut self) -> Option<()> {
        let id = self.random_item(|shape, id| {
            let parent = shape.items[id].parent;
            let is_in_case = parent.is_some_and(|at| matches!(shape.items[at].kind, Kind::Case));
            is_in_case && shape.is_data(id)
        })?;
        let around = self.shape.data_parent(id)?;
        // Nodes of a grouping or augment stay in its text.
        if self.shape.file(around) != self.shape.file(id)
            || self.shape.items[around].module != self.shape.items[id].module
        {
            return None;
        }
        self.relocate(id, around)
    }

    fn relocate(&mut self, id: ItemId, parent: ItemId) -> Option<()> {
        self.shape.remove_named_constraints(&self.shape.subtree(id));
        self.shape.detach(id);
        self.shape.attach(id, parent);
        self.shape.refresh_references(&[id]);
        Some(())
    }

    fn remove_condition(&mut self) -> Option<()> {
        let id = self.random_item(|shape, id| {
            shape.items[id].when.is_some() || !shape.items[id].musts.is_empty()
        })?;
        let item = &mut self.shape.items[id];
        item.when = None;
        item.when_reads.clear();
        item.musts.pop();
        Some(())
    }

    /// Removes a node from the schema or from the configuration; its definition is still written.
    fn hide(&mut self, edit: SchemaEdit) -> Option<()> {
        let id = self.random_item(|shape, id| {
            shape.is_data(id) && !shape.is_key(id) && shape.is_removable(id) && !shape.is_hidden(id)
        })?;
        self.shape.remove_references_to(id);
        let item = &mut self.shape.items[id];
        match edit {
            SchemaEdit::TurnFeatureOff => item.is_off = true,
            SchemaEdit::NotSupported => item.is_unsupported = true,
            _ => item.is_state = true,
        }
        Some(())
    }

    fn change_statement(&mut self, edit: SchemaEdit) -> Option<()> {
        let id = self.random_item(|shape, id| shape.has_statement(id, edit))?;
        let number = self.random.random_range(0..3);
        let value = self.shape.of(id).cloned();
        let value = value.map(|of| literal(self.random, &of));
        let item = &mut self.shape.items[id];
        item.place = StatementPlace::Definition;
        match (&mut item.kind, edit) {
            (
                Kind::List { by_user, .. } | Kind::LeafList { by_user, .. },
                SchemaEdit::FlipOrder,
            ) => {
                *by_user = !*by_user;
            }
            (Kind::List { bounds, .. } | Kind::LeafList { bounds, .. }, _) => {
                (bounds.min, bounds.max) = match number {
                    0 => (1, None),
                    1 => (0, Some(1)),
                    _ => (0, Some(9)),
                };
            }
            (Kind::Leaf { default, .. }, SchemaEdit::ChangeDefault) => {
                *default = match default {
                    Some(_) if number == 0 => None,
                    _ => value,
                };
            }
            (
                Kind::Leaf { mandatory, .. }
                | Kind::AnyData { mandatory }
                | Kind::Choice { mandatory, .. },
                _,
            ) => *mandatory = !*mandatory,
            (Kind::Container { presence }, _) => *presence = !*presence,
            _ => {}
        }
        Some(())
    }
}

impl Shape {
    /// Whether an item has, or may have, the statement that an edit changes.
    fn has_statement(&self, id: ItemId, edit: SchemaEdit) -> bool {
        match (&self.items[id].kind, edit) {
            (Kind::List { .. } | Kind::LeafList { .. }, SchemaEdit::FlipOrder) => true,
            (Kind::List { .. }, SchemaEdit::ChangeBounds) => true,
            (Kind::LeafList { defaults, .. }, SchemaEdit::ChangeBounds) => defaults.is_empty(),
            (
                Kind::Leaf {
                    of,
                    mandatory: false,
                    is_key: false,
                    ..
                },
                SchemaEdit::ChangeDefault,
            ) => !matches!(
                of,
                LeafType::Empty
                    | LeafType::InstanceIdentifier { .. }
                    | LeafType::Leafref(_)
                    | LeafType::UnionWithLeafref(_)
            ),
            (
                Kind::Leaf {
                    of,
                    default: None,
                    is_key: false,
                    ..
                },
                SchemaEdit::FlipMandatory,
            ) => !matches!(of, LeafType::SmallWithDefault),
            (
                Kind::AnyData { .. } | Kind::Choice { default: None, .. },
                SchemaEdit::FlipMandatory,
            ) => true,
            (Kind::Container { .. }, SchemaEdit::FlipPresence) => true,
            _ => false,
        }
    }
}
