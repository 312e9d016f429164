//! Writes one module of a schema as YANG.

use std::fmt::Write;

use super::files::{File, NameStyle};
use super::render::Conditions;
use super::shape::{Bounds, ItemId, Kind, LeafType, MODULES, Must, Noise, Shape, StatementPlace};

const TYPES: &str = "\
  feature off;
  identity animal;
  identity cat { base animal; }
  identity lion { base t:cat; }
  typedef small { type uint8 { range 0..5; } }
  typedef small-or-three { type small; default 3; }
  typedef word { type string { length 0..3; pattern '[ab]*'; } }
  typedef colour { type enumeration { enum red; enum green { value 4; } enum blue; } }
  typedef set { type bits { bit b0; bit b1; bit b2 { position 5; } } }
";

const DOG: &str = "  identity dog { base t:animal; }\n";

/// The text of a file; `files` are all files.
pub(super) fn write(shape: &Shape, conditions: Conditions, file: File, files: &[File]) -> String {
    let mut writer = Writer {
        shape,
        conditions,
        file,
        text: String::new(),
        depth: 0,
    };
    writer.file(files);
    writer.text
}

/// Whether a part of an item is written as a deviation.
pub(super) fn needs_deviation(shape: &Shape, id: ItemId) -> bool {
    let item = &shape.items[id];
    let is_deviated =
        |place: StatementPlace| matches!(place, StatementPlace::Added | StatementPlace::Replaced);
    item.is_unsupported
        || item.musts.iter().any(|must| is_deviated(must.place))
        || (is_deviated(item.place) && !Constraints::of(&item.kind).is_empty())
        || item.noise.iter().any(|&noise| noise != Noise::FeatureOff)
}

/// The constraints of a node, except `must` and `when`.
#[derive(Default)]
struct Constraints<'s> {
    mandatory: bool,
    defaults: Vec<&'s str>,
    unique: &'s [String],
    bounds: Bounds,
}

impl<'s> Constraints<'s> {
    fn of(kind: &'s Kind) -> Self {
        match kind {
            Kind::Leaf {
                default, mandatory, ..
            } => Self {
                mandatory: *mandatory,
                defaults: default.iter().map(String::as_str).collect(),
                ..Self::default()
            },
            Kind::LeafList {
                bounds, defaults, ..
            } => Self {
                defaults: defaults.iter().map(String::as_str).collect(),
                bounds: *bounds,
                ..Self::default()
            },
            Kind::List { bounds, unique, .. } => Self {
                bounds: *bounds,
                unique,
                ..Self::default()
            },
            Kind::AnyData { mandatory } | Kind::Choice { mandatory, .. } => Self {
                mandatory: *mandatory,
                ..Self::default()
            },
            _ => Self::default(),
        }
    }

    fn is_empty(&self) -> bool {
        self.statements().is_empty()
    }

    fn statements(&self) -> Vec<String> {
        let mut statements: Vec<String> = Vec::new();
        statements.extend(self.mandatory.then(|| "mandatory true;".to_owned()));
        let defaults = self.defaults.iter();
        statements.extend(defaults.map(|default| format!("default \"{default}\";")));
        let unique = self.unique.iter();
        statements.extend(unique.map(|leaves| format!("unique \"{leaves}\";")));
        if self.bounds.min > 0 {
            statements.push(format!("min-elements {};", self.bounds.min));
        }
        let max = self.bounds.max;
        statements.extend(max.map(|max| format!("max-elements {max};")));
        statements
    }

    /// The statements in the definition, and those at the other place.
    fn split(self, place: StatementPlace) -> (Vec<String>, Vec<String>) {
        match place {
            StatementPlace::Definition => (self.statements(), Vec::new()),
            StatementPlace::Added => (Vec::new(), self.statements()),
            StatementPlace::Refine => {
                let unique = self.unique;
                let kept = Self {
                    unique,
                    ..Self::default()
                };
                let refined = Self {
                    unique: &[],
                    ..self
                };
                (kept.statements(), refined.statements())
            }
            StatementPlace::Replaced => {
                let mut kept = Self {
                    defaults: self.defaults.clone(),
                    unique: self.unique,
                    ..Self::default()
                }
                .statements();
                if self.mandatory {
                    kept.push("mandatory false;".to_owned());
                }
                if self.bounds.min > 0 {
                    kept.push(format!("min-elements {};", self.bounds.min - 1));
                }
                if let Some(max) = self.bounds.max {
                    kept.push(format!("max-elements {};", max + 3));
                }
                let replaced = Self {
                    defaults: Vec::new(),
                    unique: &[],
                    ..self
                };
                (kept, replaced.statements())
            }
        }
    }
}

struct Writer<'s> {
    shape: &'s Shape,
    conditions: Conditions,
    file: File,
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

    fn file(&mut self, files: &[File]) {
        let name = self.file.name();
        match self.file {
            File::Submodule => {
                self.open(&format!("submodule {name}"));
                self.line("yang-version 1.1; belongs-to m { prefix s; }");
            }
            _ => {
                self.open(&format!("module {name}"));
                self.line(&format!(
                    "yang-version 1.1; namespace urn:{name}; prefix {name};"
                ));
            }
        }
        for import in self.file.imports(files) {
            let prefix = self.file.prefix(import.name()).expect("it is imported");
            self.line(&format!("import {} {{ prefix {prefix}; }}", import.name()));
        }
        if self.file == File::First && files.contains(&File::Submodule) {
            self.line("include ms;");
        }
        if self.file == File::First && self.shape.revision > 0 {
            let year = 2000 + self.shape.revision;
            self.line(&format!("revision {year}-01-01;"));
        }
        match self.file {
            File::Types => {
                self.text.push_str(TYPES);
                if self.shape.has_dog_in_types {
                    self.text.push_str(DOG);
                }
            }
            File::Identities if self.shape.has_dog_in_types => {}
            File::Identities => self.text.push_str(DOG),
            File::Deviations => self.deviations(),
            _ => self.nodes(),
        }
        self.close();
    }

    fn nodes(&mut self) {
        let items = 0..self.shape.items.len();
        for id in items.filter(|&id| self.shape.is_attached(id)) {
            let item = &self.shape.items[id];
            match item.kind {
                Kind::Uses { file } if file == self.file => {
                    self.open(&format!("grouping {}", item.name));
                    self.children(id);
                    self.close();
                }
                Kind::Augment if self.shape.file(id) == self.file => self.augment(id),
                _ => {}
            }
        }
        for &root in &self.shape.roots {
            if self.shape.file(root) == self.file {
                self.item(root);
            }
        }
        // libyang crashes on node sets that are not in document order if the last top node has no children;
        // this one always has one.
        if self.file != File::Groupings {
            let name = self.file.name();
            self.line(&format!(
                "container last-of-{name} {{ leaf z {{ type int8 {{ range 0..2; }} default 0; }} }}"
            ));
        }
    }

    fn augment(&mut self, id: ItemId) {
        let target = self.shape.items[id].parent.expect("what it augments");
        let path = self.path(None, target);
        self.open(&format!("augment /{path}"));
        self.head(id);
        self.children(id);
        self.close();
    }

    /// The path of schema nodes, with prefixes.
    fn path(&self, outer: Option<ItemId>, id: ItemId) -> String {
        let names = NameStyle {
            file: self.file,
            module: self.shape.items[id].module,
            has_dog_in_types: self.shape.has_dog_in_types,
            is_unprefixed: outer.is_some(),
        };
        names.write(&self.shape.schema_names(outer, id).join("/"))
    }

    /// Writes `if-feature` and `when`.
    fn head(&mut self, id: ItemId) {
        let item = &self.shape.items[id];
        let names = self.shape.names(id);
        if item.has_feature {
            self.line(&names.write("if-feature \"not {t}off\";"));
        }
        if item.is_off {
            self.line(&names.write("if-feature {t}off;"));
        }
        if let Some(when) = &item.when
            && self.conditions == Conditions::Written
        {
            self.line(&format!("when \"{}\";", names.write(when)));
        }
    }

    fn musts(&mut self, musts: &[Must], place: StatementPlace, names: NameStyle) {
        for must in musts.iter().filter(|must| must.place == place) {
            self.open(&format!("must \"{}\"", names.write(&must.text)));
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
            Kind::Uses { file } => return self.uses(id, file),
            Kind::Augment => return,
        };
        self.open(&format!("{keyword} {}", item.name));
        self.head(id);
        if item.is_state {
            self.line("config false;");
        }
        self.definition(id);
        let names = self.shape.names(id);
        for statement in Constraints::of(&item.kind).split(item.place).0 {
            self.line(&names.write(&statement));
        }
        self.musts(&item.musts, StatementPlace::Definition, names);
        self.children(id);
        self.noise(id);
        self.close();
    }

    fn definition(&mut self, id: ItemId) {
        let item = &self.shape.items[id];
        match &item.kind {
            Kind::Container { presence: true } => self.line("presence meaning;"),
            Kind::List { keys, by_user, .. } => {
                let names = keys.iter().map(|&key| &*self.shape.items[key].name);
                let names: Vec<&str> = names.collect();
                self.line(&format!("key \"{}\";", names.join(" ")));
                self.order(*by_user);
            }
            Kind::Leaf { of, .. } => self.of(of, id),
            Kind::LeafList { of, by_user, .. } => {
                self.of(of, id);
                self.order(*by_user);
            }
            Kind::Choice {
                default: Some(case),
                ..
            } => self.line(&format!("default {};", self.shape.items[*case].name)),
            _ => {}
        }
    }

    fn order(&mut self, by_user: bool) {
        if by_user {
            self.line("ordered-by user;");
        }
    }

    fn noise(&mut self, id: ItemId) {
        for noise in &self.shape.items[id].noise {
            match noise {
                Noise::FeatureOff => {
                    let feature = self.shape.names(id).write("{t}off");
                    self.line(&format!(
                        "leaf off{id} {{ if-feature {feature}; type string; mandatory true; }}"
                    ));
                }
                Noise::NotSupported => {
                    self.line(&format!("leaf gone{id} {{ type string; mandatory true; }}"))
                }
                Noise::DeletedMust => self.line("must \"false()\";"),
            }
        }
    }

    fn uses(&mut self, id: ItemId, file: File) {
        let name = &self.shape.items[id].name;
        let is_here = file.module_name() == self.file.module_name();
        let prefix = self.file.prefix(file.module_name()).filter(|_| !is_here);
        let prefix = prefix.map_or(String::new(), |prefix| format!("{prefix}:"));
        self.open(&format!("uses {prefix}{name}"));
        self.head(id);
        for inner in 0..self.shape.items.len() {
            if self.shape.uses_around(inner) == Some(id) && self.shape.is_attached(inner) {
                self.refine(id, inner);
            }
        }
        self.close();
    }

    fn refine(&mut self, uses: ItemId, id: ItemId) {
        let item = &self.shape.items[id];
        let refined = match item.place {
            StatementPlace::Refine => Constraints::of(&item.kind).split(item.place).1,
            _ => Vec::new(),
        };
        let has_must = item
            .musts
            .iter()
            .any(|must| must.place == StatementPlace::Refine);
        if refined.is_empty() && !has_must {
            return;
        }
        let names = NameStyle {
            file: self.file,
            ..self.shape.names(id)
        };
        let path = self.path(Some(uses), id);
        self.open(&format!("refine {path}"));
        for statement in refined {
            self.line(&names.write(&statement));
        }
        self.musts(&item.musts, StatementPlace::Refine, names);
        self.close();
    }

    fn deviations(&mut self) {
        for id in 0..self.shape.items.len() {
            let outer = self.shape.around(id).into_iter().skip(1);
            let is_gone = outer
                .into_iter()
                .any(|at| self.shape.items[at].is_unsupported);
            if self.shape.is_attached(id) && needs_deviation(self.shape, id) && !is_gone {
                self.deviation(id);
            }
        }
    }

    fn deviation(&mut self, id: ItemId) {
        let item = &self.shape.items[id];
        let path = self.path(None, id);
        if item.is_unsupported {
            return self.line(&format!("deviation /{path} {{ deviate not-supported; }}"));
        }
        let names = NameStyle {
            file: self.file,
            ..self.shape.names(id)
        };
        let elsewhere = match item.place {
            StatementPlace::Added | StatementPlace::Replaced => {
                Constraints::of(&item.kind).split(item.place).1
            }
            _ => Vec::new(),
        };
        let has_must = item
            .musts
            .iter()
            .any(|must| must.place == StatementPlace::Added);
        let is_added = item.place == StatementPlace::Added && !elsewhere.is_empty();
        let is_deleted = item.noise.contains(&Noise::DeletedMust);
        let is_replaced = item.place == StatementPlace::Replaced && !elsewhere.is_empty();
        if has_must || is_added || is_deleted || is_replaced {
            self.open(&format!("deviation /{path}"));
            if is_replaced {
                self.deviate("replace", &elsewhere, names);
            }
            if is_deleted {
                self.line("deviate delete { must \"false()\"; }");
            }
            if is_added || has_must {
                self.open("deviate add");
                let added = if is_added { elsewhere } else { Vec::new() };
                for statement in added {
                    self.line(&names.write(&statement));
                }
                self.musts(&item.musts, StatementPlace::Added, names);
                self.close();
            }
            self.close();
        }
        if item.noise.contains(&Noise::NotSupported) {
            let prefix = self
                .file
                .prefix(MODULES[item.module])
                .expect("it is imported");
            self.line(&format!(
                "deviation /{path}/{prefix}:gone{id} {{ deviate not-supported; }}"
            ));
        }
    }

    fn deviate(&mut self, how: &str, statements: &[String], names: NameStyle) {
        self.open(&format!("deviate {how}"));
        for statement in statements {
            self.line(&names.write(statement));
        }
        self.close();
    }

    fn of(&mut self, of: &LeafType, id: ItemId) {
        let names = self.shape.names(id);
        let prefix = names.file.prefix("t").expect("it is imported");
        let text = match of {
            LeafType::Enumeration => format!("type {prefix}:colour;"),
            LeafType::Small => format!("type {prefix}:small;"),
            LeafType::SmallWithDefault => format!("type {prefix}:small-or-three;"),
            LeafType::Tiny => format!("type {prefix}:small {{ range 0..2; }}"),
            LeafType::Number => "type uint16;".to_owned(),
            LeafType::Text => "type string;".to_owned(),
            LeafType::Decimal => "type decimal64 { fraction-digits 1; }".to_owned(),
            LeafType::Word => format!("type {prefix}:word;"),
            LeafType::Boolean => "type boolean;".to_owned(),
            LeafType::Identity => format!("type identityref {{ base {prefix}:animal; }}"),
            LeafType::Bits => format!("type {prefix}:set;"),
            LeafType::Empty => "type empty;".to_owned(),
            LeafType::Union => format!("type union {{ type {prefix}:small; type {prefix}:word; }}"),
            LeafType::Leafref(reference) => {
                leafref(&names.write(&reference.path), reference.is_required)
            }
            LeafType::UnionWithLeafref(reference) => {
                let member = leafref(&names.write(&reference.path), reference.is_required);
                format!("type union {{ {member} type {prefix}:small; }}")
            }
            LeafType::InstanceIdentifier { is_required } => {
                format!("type instance-identifier {{ require-instance {is_required}; }}")
            }
        };
        self.line(&text);
    }
}

fn leafref(path: &str, is_required: bool) -> String {
    format!("type leafref {{ path \"{path}\"; require-instance {is_required}; }}")
}
