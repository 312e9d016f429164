//! Import circles: files of a crate that import each other, directly or through others.
//!
//! A name counts as imported from the file that defines it, through any number of `pub use`. Imports of tests do not
//! count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

use super::report::Report;
use super::source::Source;

/// The largest number of files in an accepted circle, small enough to be read as one unit.
const CIRCLE_MAX: usize = 6;

/// The number of re-exports after which a name is not followed further.
const REEXPORTS_MAX: usize = 16;

/// The path of a module within its crate.
type Module = Vec<String>;

/// The files of one crate.
#[derive(Default)]
struct Crate {
    files: BTreeMap<Module, File>,
}

/// The imports and exports of one file.
struct File {
    path: PathBuf,
    defined: BTreeSet<String>,
    /// The names that the file re-exports, each with the path it is re-exported from.
    reexported: BTreeMap<String, Vec<String>>,
    /// The modules that are re-exported with `*`.
    globs: Vec<Vec<String>>,
    imports: Vec<Vec<String>>,
}

/// Checks the files of every crate.
pub fn check(sources: &[Source], report: &mut Report) {
    let mut crates: BTreeMap<&str, Crate> = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.is_test()) {
        if let Some(module) = module_of(&source.path) {
            let file = File::of(source);
            crates
                .entry(source.krate())
                .or_default()
                .files
                .insert(module, file);
        }
    }
    for files in crates.values() {
        for circle in files.circles() {
            let names: Vec<_> = circle
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            let message = format!(
                "a circle of {} files that import each other (at most {CIRCLE_MAX}): {}",
                names.len(),
                names.join(", ")
            );
            report.add(circle[0], 1, message);
        }
    }
}

/// The module of a file: `data::json` for `crates/yang/src/data/json/mod.rs`.
fn module_of(path: &Path) -> Option<Module> {
    let parts: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
    let at = parts.iter().position(|part| *part == "src")?;
    let mut module: Module = parts[at + 1..]
        .iter()
        .map(|part| part.trim_end_matches(".rs").to_owned())
        .collect();
    let last = module.last()?;
    if ["mod", "lib", "main"].contains(&last.as_str()) {
        module.pop();
    }
    Some(module)
}

impl File {
    fn of(source: &Source) -> Self {
        let mut file = Self {
            path: source.path.clone(),
            defined: BTreeSet::new(),
            reexported: BTreeMap::new(),
            globs: Vec::new(),
            imports: Vec::new(),
        };
        for item in &source.syntax.items {
            file.add(item);
        }
        Paths { file: &mut file }.visit_file(&source.syntax);
        file
    }

    fn add(&mut self, item: &syn::Item) {
        if let syn::Item::Use(item) = item
            && !matches!(item.vis, syn::Visibility::Inherited)
        {
            return self.add_reexports(&item.tree, &mut Vec::new());
        }
        if let Some(name) = name_of(item) {
            self.defined.insert(name);
        }
    }

    fn add_reexports(&mut self, tree: &syn::UseTree, before: &mut Vec<String>) {
        for (path, name) in leaves(tree, before) {
            match name {
                Some(name) => {
                    self.reexported.insert(name, path);
                }
                None => self.globs.push(path),
            }
        }
    }
}

fn name_of(item: &syn::Item) -> Option<String> {
    let name = match item {
        syn::Item::Const(item) => &item.ident,
        syn::Item::Enum(item) => &item.ident,
        syn::Item::Fn(item) => &item.sig.ident,
        syn::Item::Static(item) => &item.ident,
        syn::Item::Struct(item) => &item.ident,
        syn::Item::Trait(item) => &item.ident,
        syn::Item::Type(item) => &item.ident,
        syn::Item::Union(item) => &item.ident,
        syn::Item::Macro(item) => item.ident.as_ref()?,
        _ => return None,
    };
    Some(name.to_string())
}

/// The paths of a `use`, each with the name that it imports as; no name for `*`.
fn leaves(tree: &syn::UseTree, before: &mut Vec<String>) -> Vec<(Vec<String>, Option<String>)> {
    let with = |name: &syn::Ident| {
        let mut path = before.clone();
        if name != "self" {
            path.push(name.to_string());
        }
        path
    };
    match tree {
        syn::UseTree::Path(path) => {
            before.push(path.ident.to_string());
            let found = leaves(&path.tree, before);
            before.pop();
            found
        }
        syn::UseTree::Name(name) => {
            let path = with(&name.ident);
            let last = path.last().cloned();
            vec![(path, last)]
        }
        syn::UseTree::Rename(rename) => {
            vec![(with(&rename.ident), Some(rename.rename.to_string()))]
        }
        syn::UseTree::Glob(_) => vec![(before.clone(), None)],
        syn::UseTree::Group(group) => group
            .items
            .iter()
            .flat_map(|tree| leaves(tree, before))
            .collect(),
    }
}

/// Collects the imports of a file, and the paths in its code that begin with `crate` or `super`.
struct Paths<'a> {
    file: &'a mut File,
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let is_test = item.attrs.iter().any(|attribute| {
            attribute
                .parse_args::<syn::Ident>()
                .is_ok_and(|name| name == "test")
        });
        if !is_test {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if matches!(item.vis, syn::Visibility::Inherited) {
            let paths = leaves(&item.tree, &mut Vec::new());
            self.file
                .imports
                .extend(paths.into_iter().map(|(path, _)| path));
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<_> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        if matches!(names[0].as_str(), "crate" | "super") {
            self.file.imports.push(names);
        }
        visit::visit_path(self, path);
    }
}

impl Crate {
    /// The circles that are too large, each sorted.
    fn circles(&self) -> Vec<Vec<&Path>> {
        let modules: Vec<&Module> = self.files.keys().collect();
        let number = |module: &Module| modules.binary_search(&module).ok();
        let edges: Vec<Vec<usize>> = self
            .files
            .iter()
            .map(|(module, file)| {
                let imports = file.imports.iter();
                let found = imports.filter_map(|path| self.defining(module, path, 0));
                found.filter_map(|module| number(&module)).collect()
            })
            .collect();
        let circles = strongly_connected(&edges).into_iter();
        let circles = circles.filter(|circle| circle.len() > CIRCLE_MAX);
        let paths = circles.map(|circle| {
            let files = circle.iter().map(|at| &*self.files[modules[*at]].path);
            let mut files: Vec<_> = files.collect();
            files.sort();
            files
        });
        paths.collect()
    }

    /// The module whose file defines the item of a path, as written in the file of `from`.
    fn defining(&self, from: &Module, path: &[String], depth: usize) -> Option<Module> {
        let (mut module, mut rest) = match path.first()?.as_str() {
            "crate" => (Module::new(), &path[1..]),
            "self" => (from.clone(), &path[1..]),
            "super" => (from.clone(), path),
            first => {
                let mut child = from.clone();
                child.push(first.to_owned());
                if !self.files.contains_key(&child) {
                    return None;
                }
                (child, &path[1..])
            }
        };
        while rest.first().is_some_and(|name| name == "super") {
            module.pop()?;
            rest = &rest[1..];
        }
        while let Some(name) = rest.first() {
            module.push(name.clone());
            if !self.files.contains_key(&module) {
                module.pop();
                return Some(self.defining_in(module, name, depth));
            }
            rest = &rest[1..];
        }
        Some(module)
    }

    /// The module that defines a name of `module`, which may re-export it.
    fn defining_in(&self, module: Module, name: &str, depth: usize) -> Module {
        let Some(file) = self.files.get(&module) else {
            return module;
        };
        if depth > REEXPORTS_MAX || file.defined.contains(name) {
            return module;
        }
        if let Some(path) = file.reexported.get(name) {
            return self.defining(&module, path, depth + 1).unwrap_or(module);
        }
        for glob in &file.globs {
            let path: Vec<_> = glob.iter().cloned().chain([name.to_owned()]).collect();
            if let Some(found) = self.defining(&module, &path, depth + 1)
                && self.files[&found].defined.contains(name)
            {
                return found;
            }
        }
        module
    }
}

/// The strongly connected components of a graph.
fn strongly_connected(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let reaches = |from: usize| {
        let mut reached = BTreeSet::new();
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            open.extend(edges[at].iter().filter(|next| reached.insert(**next)));
        }
        reached
    };
    let reached: Vec<BTreeSet<usize>> = (0..edges.len()).map(reaches).collect();
    let mut components = Vec::new();
    let mut is_assigned = vec![false; edges.len()];
    for at in 0..edges.len() {
        if is_assigned[at] {
            continue;
        }
        let members = reached[at]
            .iter()
            .filter(|other| reached[**other].contains(&at));
        let mut component: BTreeSet<usize> = members.copied().collect();
        component.insert(at);
        component.iter().for_each(|at| is_assigned[*at] = true);
        components.push(component.into_iter().collect());
    }
    components
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source {
            path: path.into(),
            lines: text.lines().count(),
            syntax: syn::parse_file(text).expect("Rust"),
        }
    }

    fn problems(sources: &[Source]) -> Vec<String> {
        let mut report = Report::default();
        check(sources, &mut report);
        let problems = report.problems.into_iter();
        problems.map(|problem| problem.message).collect()
    }

    /// `f0` imports `f1`, and so on; the last imports the first, through a re-export of the library.
    fn ring(length: usize) -> Vec<Source> {
        let mut sources = vec![source(
            "crates/a/src/lib.rs",
            "mod f0; pub use f0::{Zero, self as zero};",
        )];
        for number in 0..length {
            let import = match number + 1 < length {
                true => format!("use super::f{};", number + 1),
                false => "use crate::Zero;".to_owned(),
            };
            let text = format!("{import} pub struct Zero;");
            sources.push(source(&format!("crates/a/src/f{number}.rs"), &text));
        }
        sources
    }

    #[test]
    fn a_large_circle_is_found_through_re_exports() {
        assert!(problems(&ring(CIRCLE_MAX)).is_empty());
        let found = problems(&ring(CIRCLE_MAX + 1));
        assert_eq!(found.len(), 1);
        assert!(
            found[0].contains("f0.rs") && !found[0].contains("lib.rs"),
            "{found:?}"
        );
    }

    #[test]
    fn imports_of_tests_make_no_circle() {
        let mut sources = ring(CIRCLE_MAX + 1);
        let last = sources.len() - 1;
        sources[last] = source(
            "crates/a/src/f6.rs",
            "pub struct Zero; #[cfg(test)] mod tests { use crate::Zero; }",
        );
        assert!(problems(&sources).is_empty());
    }
}
