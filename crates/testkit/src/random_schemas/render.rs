//! Writes a schema as YANG.

use espalier_yang::schema::{Features as EnabledFeatures, ModuleSource, SchemaSource};
use rand::rngs::StdRng;

use super::constraints::constrain;
use super::features::Features;
use super::files::File;
use super::placement::place;
use super::references::refer;
use super::shape::{Bounds, Item, Kind, Shape, StatementPlace};
use super::skeleton::{build_skeleton, remove_defaults_of_nested_choices};
use super::writer::{needs_deviation, write};

/// Whether the `when` statements are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conditions {
    /// All `when` statements are written.
    Written,
    /// They are omitted: such a schema determines the defaults without conditions.
    LeftOut,
}

/// A random schema.
#[derive(Clone, Debug)]
pub struct GeneratedSchema {
    pub(super) shape: Shape,
    /// The features that it uses.
    pub features: Features,
}

/// Generates a schema. libyang may reject it; then generate another one.
pub fn schema(random: &mut StdRng) -> GeneratedSchema {
    let mut features = Features::default();
    let mut shape = build_skeleton(random, &mut features);
    refer(random, &mut shape, &mut features);
    remove_defaults_of_nested_choices(&mut shape);
    constrain(random, &mut shape, &mut features);
    place(random, &mut shape, &mut features);
    GeneratedSchema { shape, features }
}

impl GeneratedSchema {
    /// The source texts of the modules; each follows those that it imports or includes.
    pub fn source(&self, conditions: Conditions) -> SchemaSource {
        let files: Vec<File> = File::ALL
            .into_iter()
            .filter(|&file| self.has(file))
            .collect();
        let texts = files.iter().map(|&file| {
            let text = write(&self.shape, conditions, file, &files);
            ModuleSource::from_text(text).expect("a module")
        });
        let off = (
            File::Types.name().to_owned(),
            EnabledFeatures::Only(Vec::new()),
        );
        SchemaSource {
            modules: texts.collect(),
            features: [off].into_iter().collect(),
            ..SchemaSource::default()
        }
    }

    /// Whether a file has any content.
    fn has(&self, file: File) -> bool {
        let mut items = (0..self.shape.items.len()).filter(|&id| self.shape.is_attached(id));
        match file {
            File::Types | File::Identities | File::First => true,
            File::Second => items.any(|id| self.shape.items[id].module == 1),
            File::Deviations => items.any(|id| needs_deviation(&self.shape, id)),
            File::Groupings | File::Submodule => items.any(|id| {
                let item = &self.shape.items[id];
                matches!(item.kind, Kind::Uses { file: used } if used == file)
                    || (item.is_in_submodule && file == File::Submodule)
            }),
        }
    }
}

impl GeneratedSchema {
    /// All schemas with one constraint less. The data nodes are the same, so data and edits of one are
    /// valid input for the others.
    pub fn simpler(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for id in 0..self.shape.items.len() {
            let mut with = |change: Simplification<'_>| {
                let mut simpler = self.clone();
                change(&mut simpler.shape.items[id]);
                all.push(simpler);
            };
            let item = &self.shape.items[id];
            if item.when.is_some() {
                with(&|item| item.when = None);
            }
            for must in 0..item.musts.len() {
                with(&|item| drop(item.musts.remove(must)));
            }
            if item.place != StatementPlace::Definition {
                with(&|item| item.place = StatementPlace::Definition);
            }
            if item
                .musts
                .iter()
                .any(|must| must.place != StatementPlace::Definition)
            {
                with(&|item| {
                    for must in &mut item.musts {
                        must.place = StatementPlace::Definition;
                    }
                });
            }
            if !item.noise.is_empty() || item.has_feature {
                with(&|item| {
                    item.noise.clear();
                    item.has_feature = false;
                });
            }
            if matches!(item.kind, Kind::Uses { file } if file != File::of_module(item.module)) {
                with(&|item| {
                    let file = File::of_module(item.module);
                    item.kind = Kind::Uses { file };
                });
            }
            simplify_kind(&item.kind, &mut with);
        }
        all
    }
}

/// Removes something from an item.
type Simplification<'a> = &'a dyn Fn(&mut Item);

fn simplify_kind(kind: &Kind, with: &mut dyn FnMut(Simplification<'_>)) {
    match kind {
        Kind::List { bounds, unique, .. } => {
            for index in 0..unique.len() {
                with(&|item| {
                    if let Kind::List { unique, .. } = &mut item.kind {
                        unique.remove(index);
                    }
                });
            }
            if bounds.min > 0 || bounds.max.is_some() {
                with(&|item| unbound(&mut item.kind));
            }
        }
        Kind::LeafList { bounds, .. } if bounds.min > 0 || bounds.max.is_some() => {
            with(&|item| unbound(&mut item.kind));
        }
        Kind::Leaf {
            mandatory: true, ..
        }
        | Kind::Choice {
            mandatory: true, ..
        } => with(&|item| match &mut item.kind {
            Kind::Leaf { mandatory, .. } | Kind::Choice { mandatory, .. } => *mandatory = false,
            _ => {}
        }),
        _ => {}
    }
}

fn unbound(kind: &mut Kind) {
    if let Kind::List { bounds, .. } | Kind::LeafList { bounds, .. } = kind {
        *bounds = Bounds::default();
    }
}
