//! A schema written as YANG.

use std::fmt::Write;

use espalier_yang::schema::{ModuleSource, SchemaSource};
use rand::rngs::StdRng;

use super::constraints::constrain;
use super::features::Features;
use super::grow::{grow, settle_nested_choices};
use super::references::refer;
use super::shape::{Bounds, Item, ItemId, Kind, MODULES, Of, Shape};

/// Whether the `when` statements are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conditions {
    /// They are.
    Written,
    /// They are left out: such a schema tells which defaults there would be.
    LeftOut,
}

/// A random schema.
#[derive(Clone, Debug)]
pub struct GeneratedSchema {
    shape: Shape,
    /// What it uses.
    pub features: Features,
}

/// Makes a schema. It may be one that libyang refuses; then make another.
pub fn schema(random: &mut StdRng) -> GeneratedSchema {
    let mut features = Features::default();
    let mut shape = grow(random, &mut features);
    refer(random, &mut shape, &mut features);
    settle_nested_choices(&mut shape);
    constrain(random, &mut shape, &mut features);
    GeneratedSchema { shape, features }
}

impl GeneratedSchema {
    /// The modules as text.
    pub fn source(&self, conditions: Conditions) -> SchemaSource {
        let has_second = self.shape.items.iter().any(|item| item.module == 1);
        let texts = (0..=usize::from(has_second)).map(|module| {
            let mut writer = Writer {
                shape: &self.shape,
                conditions,
                module,
                text: String::new(),
                depth: 0,
            };
            writer.module();
            ModuleSource::from_text(writer.text).expect("a module")
        });
        SchemaSource {
            modules: texts.collect(),
            ..SchemaSource::default()
        }
    }
}

impl GeneratedSchema {
    /// The same schema with one constraint less, in every way. Data nodes stay, so that data and
    /// edits of one are data and edits of the other.
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
            simplify_kind(&item.kind, &mut with);
        }
        all
    }
}

/// Takes something away from an item.
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

const TYPEDEFS: &str = "\
  identity animal;
  identity cat { base animal; }
  identity lion { base cat; }
  identity dog { base animal; }
  typedef small { type uint8 { range 0..5; } }
  typedef small-or-three { type small; default 3; }
  typedef word { type string { length 0..3; pattern '[ab]*'; } }
  typedef colour { type enumeration { enum red; enum green { value 4; } enum blue; } }
  typedef set { type bits { bit b0; bit b1; bit b2 { position 5; } } }
";

struct Writer<'s> {
    shape: &'s Shape,
    conditions: Conditions,
    module: usize,
    text: String,
    depth: usize,
}

impl Writer<'_> {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{:1$}{line}", "", self.depth * 2);
    }

    fn open(&mut self, line: &str) {
        self.line(&format!("{line} {{"));
        self.depth += 1;
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    fn module(&mut self) {
        let name = MODULES[self.module];
        self.open(&format!("module {name}"));
        self.line(&format!(
            "yang-version 1.1; namespace urn:{name}; prefix {name};"
        ));
        match self.module {
            0 => self.text.push_str(TYPEDEFS),
            _ => self.line("import m { prefix m; }"),
        }
        let items = 0..self.shape.items.len();
        for id in items {
            let item = &self.shape.items[id];
            match item.kind {
                Kind::Uses if item.module == self.module => {
                    self.open(&format!("grouping {}", item.name));
                    self.children(id);
                    self.close();
                }
                Kind::Augment if item.module == self.module => self.augment(id),
                _ => {}
            }
        }
        for &root in &self.shape.roots {
            if self.shape.items[root].module == self.module {
                self.item(root);
            }
        }
        // libyang crashes on sets of nodes that are not in document order where the last node at
        // the top has no children; this one always has one.
        self.line(&format!(
            "container last-of-{name} {{ leaf z {{ type int8 {{ range 0..2; }} default 0; }} }}"
        ));
        self.close();
    }

    fn augment(&mut self, id: ItemId) {
        let target = self.shape.items[id].parent.expect("what it augments");
        let path = self.shape.around(target);
        let path: Vec<String> = path.iter().rev().map(|&at| self.shape.name(at)).collect();
        self.open(&format!("augment /{}", path.join("/")));
        self.when(id);
        self.children(id);
        self.close();
    }

    fn when(&mut self, id: ItemId) {
        if self.conditions == Conditions::LeftOut {
            return;
        }
        if let Some(when) = &self.shape.items[id].when {
            self.line(&format!("when \"{when}\";"));
        }
    }

    fn musts(&mut self, id: ItemId) {
        for must in &self.shape.items[id].musts {
            self.open(&format!("must \"{}\"", must.text));
            if let Some(message) = &must.message {
                self.line(&format!("error-message \"{message}\";"));
            }
            if let Some(tag) = &must.app_tag {
                self.line(&format!("error-app-tag {tag};"));
            }
            self.close();
        }
    }

    fn children(&mut self, id: ItemId) {
        for &child in &self.shape.items[id].children {
            if !matches!(self.shape.items[child].kind, Kind::Augment) {
                self.item(child);
            }
        }
    }

    fn item(&mut self, id: ItemId) {
        let item = &self.shape.items[id];
        let keyword = match item.kind {
            Kind::Container { .. } => "container",
            Kind::List { .. } => "list",
            Kind::Leaf { .. } => "leaf",
            Kind::LeafList { .. } => "leaf-list",
            Kind::AnyData { .. } => "anydata",
            Kind::Choice { .. } => "choice",
            Kind::Case => "case",
            Kind::Uses => "uses",
            Kind::Augment => return,
        };
        self.open(&format!("{keyword} {}", item.name));
        self.when(id);
        match &item.kind {
            Kind::Container { presence: true } => self.line("presence meaning;"),
            Kind::AnyData { mandatory: true } => self.line("mandatory true;"),
            Kind::List {
                keys,
                by_user,
                bounds,
                unique,
            } => self.list(keys, *by_user, *bounds, unique),
            Kind::Leaf {
                of,
                default,
                mandatory,
                ..
            } => self.leaf(of, default.as_deref(), *mandatory),
            Kind::LeafList {
                of,
                by_user,
                bounds,
                defaults,
            } => self.leaf_list(of, *by_user, *bounds, defaults),
            Kind::Choice { default, mandatory } => self.choice(*default, *mandatory),
            _ => {}
        }
        self.musts(id);
        if !matches!(item.kind, Kind::Uses) {
            self.children(id);
        }
        self.close();
    }

    fn list(&mut self, keys: &[ItemId], by_user: bool, bounds: Bounds, unique: &[String]) {
        let names: Vec<&str> = keys
            .iter()
            .map(|&key| &*self.shape.items[key].name)
            .collect();
        self.line(&format!("key \"{}\";", names.join(" ")));
        for leaves in unique {
            self.line(&format!("unique \"{leaves}\";"));
        }
        self.entries(by_user, bounds);
    }

    fn entries(&mut self, by_user: bool, bounds: Bounds) {
        if by_user {
            self.line("ordered-by user;");
        }
        if bounds.min > 0 {
            self.line(&format!("min-elements {};", bounds.min));
        }
        if let Some(max) = bounds.max {
            self.line(&format!("max-elements {max};"));
        }
    }

    fn leaf(&mut self, of: &Of, default: Option<&str>, mandatory: bool) {
        self.of(of);
        if let Some(default) = default {
            self.line(&format!("default \"{default}\";"));
        }
        if mandatory {
            self.line("mandatory true;");
        }
    }

    fn leaf_list(&mut self, of: &Of, by_user: bool, bounds: Bounds, defaults: &[String]) {
        self.of(of);
        for default in defaults {
            self.line(&format!("default \"{default}\";"));
        }
        self.entries(by_user, bounds);
    }

    fn choice(&mut self, default: Option<ItemId>, mandatory: bool) {
        if let Some(case) = default {
            self.line(&format!("default {};", self.shape.items[case].name));
        }
        if mandatory {
            self.line("mandatory true;");
        }
    }

    fn of(&mut self, of: &Of) {
        let text = match of {
            Of::Enumeration => "type m:colour;".to_owned(),
            Of::Small => "type m:small;".to_owned(),
            Of::SmallWithDefault => "type m:small-or-three;".to_owned(),
            Of::Decimal => "type decimal64 { fraction-digits 1; }".to_owned(),
            Of::Word => "type m:word;".to_owned(),
            Of::Boolean => "type boolean;".to_owned(),
            Of::Identity => "type identityref { base m:animal; }".to_owned(),
            Of::Bits => "type m:set;".to_owned(),
            Of::Empty => "type empty;".to_owned(),
            Of::Union => "type union { type m:small; type m:word; }".to_owned(),
            Of::Leafref(reference) => leafref(&reference.path, reference.is_required),
            Of::UnionWithLeafref(reference) => {
                let member = leafref(&reference.path, reference.is_required);
                format!("type union {{ {member} type m:small; }}")
            }
            Of::InstanceIdentifier { is_required } => {
                format!("type instance-identifier {{ require-instance {is_required}; }}")
            }
        };
        self.line(&text);
    }
}

fn leafref(path: &str, is_required: bool) -> String {
    format!("type leafref {{ path \"{path}\"; require-instance {is_required}; }}")
}
