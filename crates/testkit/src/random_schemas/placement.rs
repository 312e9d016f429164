//! Chooses where constraints are written: in definitions, refinements or deviations. Adds statements
//! without effect.

use rand::Rng;
use rand::rngs::StdRng;

use super::features::Features;
use super::shape::{Bounds, ItemId, Kind, LeafType, MODULES, Noise, Shape, StatementPlace, pick};

/// Chooses the place of every statement.
pub(super) fn place(random: &mut StdRng, shape: &mut Shape, features: &mut Features) {
    let has_deviations = random.random_ratio(1, 2);
    let mut placer = Placer {
        random,
        shape,
        features,
        has_deviations,
    };
    for id in 0..placer.shape.items.len() {
        placer.item(id);
        placer.note(id);
    }
}

struct Placer<'a> {
    random: &'a mut StdRng,
    shape: &'a mut Shape,
    features: &'a mut Features,
    has_deviations: bool,
}

impl Placer<'_> {
    fn chance(&mut self, percent: u32) -> bool {
        self.random.random_ratio(percent, 100)
    }

    fn item(&mut self, id: ItemId) {
        self.shape.items[id].is_unprefixed = self.random.random_bool(0.5);
        if self.shape.is_key(id) {
            return;
        }
        self.shape.items[id].has_feature = self.chance(6);
        if let Some(noise) = self.noise(id) {
            self.shape.items[id].noise.push(noise);
        }
        if is_refinable(&self.shape.items[id].kind) {
            self.shape.items[id].place = self.one_place(id);
        }
        for index in 0..self.shape.items[id].musts.len() {
            let place = match self.one_place(id) {
                StatementPlace::Replaced => StatementPlace::Definition,
                place => place,
            };
            self.shape.items[id].musts[index].place = place;
        }
    }

    fn one_place(&mut self, id: ItemId) -> StatementPlace {
        let is_in_grouping = self.shape.uses_around(id).is_some();
        match self.random.random_range(0..100) {
            0..14 if self.has_deviations => StatementPlace::Added,
            14..24 if self.has_deviations => StatementPlace::Replaced,
            24..50 if is_in_grouping => StatementPlace::Refine,
            _ => StatementPlace::Definition,
        }
    }

    fn noise(&mut self, id: ItemId) -> Option<Noise> {
        let is_inner = matches!(
            self.shape.items[id].kind,
            Kind::Container { .. } | Kind::List { .. }
        );
        let is_apart = self.shape.around(id).iter().any(|&at| {
            matches!(
                self.shape.items[at].kind,
                Kind::Choice { .. } | Kind::Augment
            )
        });
        if !is_inner || is_apart || !self.chance(15) {
            return None;
        }
        let noise = pick(
            self.random,
            &[Noise::FeatureOff, Noise::NotSupported, Noise::DeletedMust],
        );
        Some(noise).filter(|noise| *noise == Noise::FeatureOff || self.has_deviations)
    }

    fn note(&mut self, id: ItemId) {
        let item = &self.shape.items[id];
        let has_constraints = has_constraints(&item.kind);
        let is_elsewhere = self.shape.file(id).module_name() != MODULES[item.module];
        let is_leafref = matches!(self.shape.of(id), Some(LeafType::Leafref(_)));
        let places = item.musts.iter().map(|must| must.place);
        let places: Vec<StatementPlace> = places
            .chain(has_constraints.then_some(item.place))
            .collect();
        let notes = [
            ("grouping of another module", is_elsewhere),
            (
                "when in a grouping of another module",
                is_elsewhere && item.when.is_some(),
            ),
            (
                "must in a grouping of another module",
                is_elsewhere && !item.musts.is_empty(),
            ),
            (
                "leafref in a grouping of another module",
                is_elsewhere && is_leafref,
            ),
            ("refine", places.contains(&StatementPlace::Refine)),
            ("deviate add", places.contains(&StatementPlace::Added)),
            (
                "deviate replace",
                places.contains(&StatementPlace::Replaced),
            ),
            ("deviate delete", item.noise.contains(&Noise::DeletedMust)),
            ("not-supported", item.noise.contains(&Noise::NotSupported)),
            ("feature off", item.noise.contains(&Noise::FeatureOff)),
            ("if-feature", item.has_feature),
        ];
        for (note, is_met) in notes {
            if is_met {
                self.features.note(note);
            }
        }
    }
}

/// Whether it has statements that are written at its place.
fn has_constraints(kind: &Kind) -> bool {
    match kind {
        Kind::Leaf {
            mandatory, default, ..
        } => *mandatory || default.is_some(),
        Kind::LeafList {
            bounds, defaults, ..
        } => !defaults.is_empty() || !is_unbound(*bounds),
        Kind::List { bounds, .. } => !is_unbound(*bounds),
        Kind::AnyData { mandatory } | Kind::Choice { mandatory, .. } => *mandatory,
        _ => false,
    }
}

fn is_unbound(bounds: Bounds) -> bool {
    bounds.min == 0 && bounds.max.is_none()
}

fn is_refinable(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::Leaf { .. }
            | Kind::LeafList { .. }
            | Kind::List { .. }
            | Kind::AnyData { .. }
            | Kind::Choice { .. }
    )
}

impl Shape {
    /// The nearest `uses` that contains an item, without an augment between.
    pub(super) fn uses_around(&self, id: ItemId) -> Option<ItemId> {
        let around = self.around(id).into_iter().skip(1);
        let mut around = around.take_while(|&at| !matches!(self.items[at].kind, Kind::Augment));
        around.find(|&at| matches!(self.items[at].kind, Kind::Uses { .. }))
    }

    /// The names of the schema nodes from `outer` down to an item, including choices and cases, and the
    /// implicit case of a shorthand.
    pub(super) fn schema_names(&self, outer: Option<ItemId>, id: ItemId) -> Vec<String> {
        let mut names = Vec::new();
        let around = self.around(id);
        let inner = around.into_iter().take_while(|&at| Some(at) != outer);
        for at in inner {
            if matches!(self.items[at].kind, Kind::Uses { .. } | Kind::Augment) {
                continue;
            }
            names.push(self.name(at));
            let is_shorthand = self.items[at].parent.is_some_and(|parent| {
                matches!(self.items[parent].kind, Kind::Choice { .. })
                    && !matches!(self.items[at].kind, Kind::Case)
            });
            if is_shorthand {
                names.push(self.name(at));
            }
        }
        names.reverse();
        names
    }
}
