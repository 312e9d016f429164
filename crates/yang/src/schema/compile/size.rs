//! Bounds the number of schema nodes and of the members of unions before anything is expanded: groupings that use another
//! one twice, and unions that have another one twice, double with each level, and libyang would expand all of it.

use std::collections::{HashMap, HashSet};

use super::error::{SchemaError, SchemaErrors};
use super::texts::file_name;
use crate::schema::SchemaSource;
use crate::schema::statement::{Statement, Statements};

/// The maximum number of data nodes, operations and notifications of all modules together, counted with expanded
/// groupings. The native models of a large router have 800,000.
pub const SCHEMA_NODES_MAX: u64 = 4_000_000;

/// The maximum number of types of all typedefs and leafs together, counted with the members of expanded unions.
pub const UNION_MEMBERS_MAX: u64 = 1_000_000;

/// The maximum length of a chain of definitions that use each other.
const DEPTH_MAX: usize = 500;

/// A definition by the name of its module and its own name; what a module has outside of definitions has the empty name.
/// Definitions of one name in different scopes of a module are counted together.
type Name = (String, String);

/// The parts that a definition has itself, and the definitions that it uses.
struct Definition {
    name: Name,
    parts: u64,
    uses: Vec<usize>,
    /// The number of parts with all that is used; known after it was counted.
    size: Option<u64>,
}

/// The definitions of one kind in all modules: groupings with their nodes, or typedefs with their types.
struct Definitions {
    kind: Kind,
    places: HashMap<Name, usize>,
    all: Vec<Definition>,
}

/// What is counted.
#[derive(Clone, Copy)]
enum Kind {
    Nodes,
    Types,
}

impl Kind {
    fn max(self) -> u64 {
        match self {
            Self::Nodes => SCHEMA_NODES_MAX,
            Self::Types => UNION_MEMBERS_MAX,
        }
    }

    /// The message about too many.
    fn message(self, cause: Option<&Name>) -> String {
        let definition = match self {
            Self::Nodes => "grouping",
            Self::Types => "typedef",
        };
        let cause = match cause {
            Some((module, name)) => {
                format!(
                    "the {definition} {name} of {module} alone has more, with those that it uses"
                )
            }
            None => "this module has the most".to_owned(),
        };
        match self {
            Self::Nodes => format!(
                "The modules have more than {SCHEMA_NODES_MAX} nodes (SCHEMA_NODES_MAX) with expanded groupings: {cause}."
            ),
            Self::Types => format!(
                "The modules have more than {UNION_MEMBERS_MAX} types (UNION_MEMBERS_MAX) with expanded unions: {cause}."
            ),
        }
    }
}

/// Rejects modules that have too many nodes or types. Names the largest of them, and the definition that makes it too
/// large.
pub(super) fn reject_too_large(
    source: &SchemaSource,
    implemented: &[&str],
) -> Result<(), SchemaErrors> {
    let mut groupings = Definitions::new(Kind::Nodes);
    let mut typedefs = Definitions::new(Kind::Types);
    for module in &source.modules {
        Reader::new(&mut groupings, &mut typedefs).read(&module.text);
    }
    for mut definitions in [groupings, typedefs] {
        if let Some(largest) = definitions.largest_if_too_many(implemented) {
            return Err(too_many(source, &largest, &definitions));
        }
    }
    Ok(())
}

fn too_many(source: &SchemaSource, largest: &str, definitions: &Definitions) -> SchemaErrors {
    let mut modules = source.modules.iter();
    let module = modules.find(|module| module.name == largest);
    let revision = module.and_then(|module| module.revision.as_deref());
    let message = definitions.kind.message(definitions.smallest_too_large());
    SchemaErrors::new(vec![SchemaError {
        module: file_name(largest, revision),
        line: 0,
        path: String::new(),
        message,
    }])
}

impl Definitions {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            places: HashMap::new(),
            all: Vec::new(),
        }
    }

    /// The place of a definition, which is created if there is none.
    fn place(&mut self, module: &str, name: &str) -> usize {
        let name = (module.to_owned(), name.to_owned());
        if let Some(&place) = self.places.get(&name) {
            return place;
        }
        let place = self.all.len();
        self.places.insert(name.clone(), place);
        self.all.push(Definition {
            name,
            parts: 0,
            uses: Vec::new(),
            size: None,
        });
        place
    }

    /// Adds a part to the innermost open definition.
    fn add_part(&mut self, open: &[(usize, usize)]) {
        if let Some(&(_, within)) = open.last() {
            self.all[within].parts += 1;
        }
    }

    /// The innermost open definition uses another one.
    fn add_use(&mut self, open: &[(usize, usize)], used: usize) {
        if let Some(&(_, within)) = open.last() {
            self.all[within].uses.push(used);
        }
    }

    /// The module with the most parts, if the modules together, or one definition, have too many: libyang expands a
    /// definition that nothing uses too, to check it.
    fn largest_if_too_many(&mut self, implemented: &[&str]) -> Option<String> {
        let implemented: HashSet<&str> = implemented.iter().copied().collect();
        let max = self.kind.max();
        let mut total = 0_u64;
        let mut largest = (0, 0);
        for place in 0..self.all.len() {
            if !implemented.contains(self.all[place].name.0.as_str()) {
                continue;
            }
            let size = self.size(place, 0);
            largest = largest.max((size, place));
            let is_expanded = match self.kind {
                Kind::Nodes => self.all[place].name.1.is_empty(),
                // Each typedef keeps its expanded type.
                Kind::Types => true,
            };
            if is_expanded || size > max {
                total = total.saturating_add(size);
            }
        }
        (total > max).then(|| self.all[largest.1].name.0.clone())
    }

    /// The number of parts of a definition. One that uses itself, which libyang reports, has only its own parts; a chain
    /// of more than [`DEPTH_MAX`] counts as too many.
    fn size(&mut self, place: usize, depth: usize) -> u64 {
        if let Some(size) = self.all[place].size {
            return size;
        }
        if depth > DEPTH_MAX {
            return u64::MAX;
        }
        let mut total = self.all[place].parts;
        self.all[place].size = Some(total);
        for used in std::mem::take(&mut self.all[place].uses) {
            total = total.saturating_add(self.size(used, depth + 1));
        }
        self.all[place].size = Some(total);
        total
    }

    /// The definition with the fewest parts among those that are too large: where the growth passes the limit.
    fn smallest_too_large(&self) -> Option<&Name> {
        let max = self.kind.max();
        let definitions = self.all.iter().filter(|one| !one.name.1.is_empty());
        let too_large = definitions.filter_map(|one| {
            let size = one.size.filter(|size| *size > max)?;
            Some((size, &one.name))
        });
        too_large.min().map(|(_, name)| name)
    }
}

/// Reads the definitions of one text. A module in several revisions has those of all of them.
struct Reader<'d> {
    groupings: &'d mut Definitions,
    typedefs: &'d mut Definitions,
    module: String,
    /// The modules of the prefixes.
    prefixes: HashMap<String, String>,
    /// The module of the import that is being read.
    imported: String,
    /// The module's own nodes, then the enclosing groupings, with their depths.
    open_groupings: Vec<(usize, usize)>,
    /// The module's own types, then the enclosing typedef, with their depths.
    open_typedefs: Vec<(usize, usize)>,
    /// The depth of the enclosing union.
    open_union: Option<usize>,
}

impl<'d> Reader<'d> {
    fn new(groupings: &'d mut Definitions, typedefs: &'d mut Definitions) -> Self {
        Self {
            groupings,
            typedefs,
            module: String::new(),
            prefixes: HashMap::new(),
            imported: String::new(),
            open_groupings: Vec::new(),
            open_typedefs: Vec::new(),
            open_union: None,
        }
    }

    fn read(mut self, text: &str) {
        for statement in Statements::new(text) {
            close(&mut self.open_groupings, statement.depth);
            close(&mut self.open_typedefs, statement.depth);
            self.open_union = self.open_union.filter(|depth| *depth < statement.depth);
            self.statement(&statement);
        }
    }

    fn statement(&mut self, statement: &Statement<'_>) {
        let argument = statement.argument.as_deref().unwrap_or_default();
        match (statement.keyword, statement.depth) {
            ("module", 0) | ("belongs-to", 1) => self.enter_module(argument),
            ("import", 1) => argument.clone_into(&mut self.imported),
            ("prefix", 2) => {
                let module = self.imported.clone();
                self.prefixes.insert(argument.to_owned(), module);
            }
            ("grouping", depth) => {
                let place = self.groupings.place(&self.module, argument);
                self.open_groupings.push((depth, place));
            }
            ("typedef", depth) => {
                let place = self.typedefs.place(&self.module, argument);
                self.open_typedefs.push((depth, place));
            }
            ("uses", _) => {
                let (module, name) = self.resolve(argument);
                let used = self.groupings.place(&module, name);
                self.groupings.add_use(&self.open_groupings, used);
            }
            ("type", depth) => self.type_of(argument, depth),
            (keyword, _) if is_node(keyword) => self.groupings.add_part(&self.open_groupings),
            _ => {}
        }
    }

    fn enter_module(&mut self, name: &str) {
        name.clone_into(&mut self.module);
        // The prefix of a submodule is that of its module.
        name.clone_into(&mut self.imported);
        self.open_groupings = vec![(0, self.groupings.place(name, ""))];
        self.open_typedefs = vec![(0, self.typedefs.place(name, ""))];
    }

    /// A type, of which there is one more: built in, or that of a typedef with its members. The type of a leaf that is that
    /// of a typedef is not expanded again.
    fn type_of(&mut self, name: &str, depth: usize) {
        let is_expanded = self.open_typedefs.len() > 1 || self.open_union.is_some();
        if name == "union" {
            self.open_union.get_or_insert(depth);
        }
        if !is_expanded {
            return;
        }
        self.typedefs.add_part(&self.open_typedefs);
        if is_built_in(name) {
            return;
        }
        let (module, name) = self.resolve(name);
        let used = self.typedefs.place(&module, name);
        self.typedefs.add_use(&self.open_typedefs, used);
    }

    /// The module and the name without the prefix.
    fn resolve<'n>(&self, name: &'n str) -> (String, &'n str) {
        let (module, name) = match name.split_once(':') {
            Some((prefix, name)) => (self.prefixes.get(prefix), name),
            None => (None, name),
        };
        (module.unwrap_or(&self.module).clone(), name)
    }
}

/// Closes what ended before a statement at this depth.
fn close(open: &mut Vec<(usize, usize)>, depth: usize) {
    while open.len() > 1 && open.last().is_some_and(|open| open.0 >= depth) {
        open.pop();
    }
}

fn is_built_in(name: &str) -> bool {
    matches!(
        name,
        "binary"
            | "bits"
            | "boolean"
            | "decimal64"
            | "empty"
            | "enumeration"
            | "identityref"
            | "instance-identifier"
            | "int8"
            | "int16"
            | "int32"
            | "int64"
            | "leafref"
            | "string"
            | "uint8"
            | "uint16"
            | "uint32"
            | "uint64"
            | "union"
    )
}

fn is_node(keyword: &str) -> bool {
    matches!(
        keyword,
        "container"
            | "leaf"
            | "leaf-list"
            | "list"
            | "choice"
            | "case"
            | "anydata"
            | "anyxml"
            | "rpc"
            | "action"
            | "input"
            | "output"
            | "notification"
    )
}
