//! Bounds the number of schema nodes before anything is expanded: groupings that use another one twice double with each
//! level, and libyang would expand all of it.

use std::collections::{HashMap, HashSet};

use super::error::{SchemaError, SchemaErrors};
use super::texts::file_name;
use crate::schema::SchemaSource;
use crate::schema::statement::{Statement, Statements};

/// The maximum number of data nodes, operations and notifications of all modules together, counted with expanded
/// groupings. The native models of a large router have 800,000.
pub const SCHEMA_NODES_MAX: u64 = 4_000_000;

/// The maximum length of a chain of groupings that use each other.
const GROUPINGS_DEPTH_MAX: usize = 500;

/// A grouping by the name of its module and its own name; a module's own nodes have the empty name. Groupings of one
/// name in different scopes of a module are counted together.
type Name = (String, String);

/// The nodes that a grouping defines itself, and the groupings that it uses.
struct Definition {
    name: Name,
    nodes: u64,
    uses: Vec<usize>,
    /// The number of nodes with all that is used; known after it was counted.
    size: Option<u64>,
}

/// The groupings of all modules.
#[derive(Default)]
struct Definitions {
    places: HashMap<Name, usize>,
    all: Vec<Definition>,
}

/// Rejects modules that have too many nodes. Names the largest of them, and the grouping that makes it too large.
pub(super) fn reject_too_many_nodes(
    source: &SchemaSource,
    implemented: &[&str],
) -> Result<(), SchemaErrors> {
    let mut definitions = Definitions::default();
    for module in &source.modules {
        Reader::new(&mut definitions).read(&module.text);
    }
    match definitions.largest_if_too_many(implemented) {
        Some(largest) => Err(too_many_nodes(source, &largest, &definitions)),
        None => Ok(()),
    }
}

fn too_many_nodes(source: &SchemaSource, largest: &str, definitions: &Definitions) -> SchemaErrors {
    let mut modules = source.modules.iter();
    let module = modules.find(|module| module.name == largest);
    let revision = module.and_then(|module| module.revision.as_deref());
    let cause = match definitions.smallest_too_large() {
        Some((module, grouping)) => {
            format!("the grouping {grouping} of {module} alone has more, with those that it uses")
        }
        None => "this module has the most".to_owned(),
    };
    let message = format!(
        "The modules have more than {SCHEMA_NODES_MAX} nodes (SCHEMA_NODES_MAX) with expanded groupings: {cause}."
    );
    SchemaErrors::new(vec![SchemaError {
        module: file_name(largest, revision),
        line: 0,
        path: String::new(),
        message,
    }])
}

impl Definitions {
    /// The place of a grouping, which is created if there is none.
    fn place(&mut self, module: &str, grouping: &str) -> usize {
        let name = (module.to_owned(), grouping.to_owned());
        if let Some(&place) = self.places.get(&name) {
            return place;
        }
        let place = self.all.len();
        self.places.insert(name.clone(), place);
        self.all.push(Definition {
            name,
            nodes: 0,
            uses: Vec::new(),
            size: None,
        });
        place
    }

    /// The module with the most nodes, if the modules together, or one grouping, have too many: libyang expands a
    /// grouping that nothing uses too, to check it.
    fn largest_if_too_many(&mut self, implemented: &[&str]) -> Option<String> {
        let implemented: HashSet<&str> = implemented.iter().copied().collect();
        let mut total = 0_u64;
        let mut largest = (0, 0);
        for place in 0..self.all.len() {
            if !implemented.contains(self.all[place].name.0.as_str()) {
                continue;
            }
            let size = self.size(place, 0);
            largest = largest.max((size, place));
            let is_grouping = !self.all[place].name.1.is_empty();
            if !is_grouping || size > SCHEMA_NODES_MAX {
                total = total.saturating_add(size);
            }
        }
        (total > SCHEMA_NODES_MAX).then(|| self.all[largest.1].name.0.clone())
    }

    /// The number of nodes of a grouping. One that uses itself, which libyang reports, has only its own nodes; a chain
    /// of more than [`GROUPINGS_DEPTH_MAX`] counts as too many.
    fn size(&mut self, place: usize, depth: usize) -> u64 {
        if let Some(size) = self.all[place].size {
            return size;
        }
        if depth > GROUPINGS_DEPTH_MAX {
            return u64::MAX;
        }
        let mut total = self.all[place].nodes;
        self.all[place].size = Some(total);
        for used in std::mem::take(&mut self.all[place].uses) {
            total = total.saturating_add(self.size(used, depth + 1));
        }
        self.all[place].size = Some(total);
        total
    }

    /// The grouping with the fewest nodes among those that are too large: where the growth passes the limit.
    fn smallest_too_large(&self) -> Option<&Name> {
        let groupings = self.all.iter().filter(|one| !one.name.1.is_empty());
        let too_large = groupings.filter_map(|one| {
            let size = one.size.filter(|size| *size > SCHEMA_NODES_MAX)?;
            Some((size, &one.name))
        });
        too_large.min().map(|(_, name)| name)
    }
}

/// Reads the groupings of one text. A module in several revisions has the nodes of all of them.
struct Reader<'d> {
    definitions: &'d mut Definitions,
    module: String,
    /// The modules of the prefixes.
    prefixes: HashMap<String, String>,
    /// The module of the import that is being read.
    imported: String,
    /// The module's own nodes, then the enclosing groupings, with their depths.
    open: Vec<(usize, usize)>,
}

impl<'d> Reader<'d> {
    fn new(definitions: &'d mut Definitions) -> Self {
        Self {
            definitions,
            module: String::new(),
            prefixes: HashMap::new(),
            imported: String::new(),
            open: Vec::new(),
        }
    }

    fn read(mut self, text: &str) {
        for statement in Statements::new(text) {
            while self.open.len() > 1
                && self
                    .open
                    .last()
                    .is_some_and(|open| open.0 >= statement.depth)
            {
                self.open.pop();
            }
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
                let place = self.definitions.place(&self.module, argument);
                self.open.push((depth, place));
            }
            ("uses", _) => self.uses(argument),
            (keyword, _) if is_node(keyword) => {
                if let Some((_, within)) = self.open.last() {
                    self.definitions.all[*within].nodes += 1;
                }
            }
            _ => {}
        }
    }

    fn enter_module(&mut self, name: &str) {
        name.clone_into(&mut self.module);
        // The prefix of a submodule is that of its module.
        name.clone_into(&mut self.imported);
        self.open = vec![(0, self.definitions.place(name, ""))];
    }

    fn uses(&mut self, grouping: &str) {
        let (module, name) = match grouping.split_once(':') {
            Some((prefix, name)) => (self.prefixes.get(prefix), name),
            None => (None, grouping),
        };
        let module = module.unwrap_or(&self.module);
        let used = self.definitions.place(module, name);
        if let Some((_, within)) = self.open.last() {
            self.definitions.all[*within].uses.push(used);
        }
    }
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
