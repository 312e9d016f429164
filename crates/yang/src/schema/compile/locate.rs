//! Finds the position of an error in the texts. libyang keeps no lines once a module is parsed and gives a schema
//! path; the statement that defines the last node of the path is searched for in the texts.
//!
//! The nodes of a `uses` are defined in a grouping, so of several nodes of the right name, the one with the longest
//! match of the path above it is taken.

use std::borrow::Cow;

use super::error::SchemaError;
use super::texts::{file_name, find};
use crate::schema::statement::{Statement, Statements};
use crate::schema::{ModuleSource, SchemaSource};
use crate::standard;

/// A step of a path: `name`, or `{augment='/a:b'}`.
#[derive(Debug, PartialEq, Eq)]
struct Step<'p> {
    /// The keyword, in the second form.
    keyword: Option<&'p str>,
    argument: &'p str,
}

/// Adds the file and the line to an error that has a path.
pub(super) fn locate(error: &mut SchemaError, source: &SchemaSource) {
    if error.line > 0 || error.path.is_empty() {
        return;
    }
    let (module, steps) = steps(&error.path);
    let Some(module) = module.and_then(|module| find(source, module, None)) else {
        return;
    };
    let submodules = source
        .modules
        .iter()
        .filter(|candidate| belongs_to(candidate, &module.name));
    let found = std::iter::once(module)
        .chain(submodules)
        .filter_map(|candidate| Some((best_line(&candidate.text, &steps)?, candidate)))
        .max_by_key(|((match_length, _), _)| *match_length);
    if let Some(((_, line), found)) = found {
        error.module = file_name(&found.name, found.revision.as_deref());
        error.line = line;
    }
}

/// Adds the position to an error about a missing module: that of the `import` or `include`. `requested` are the files
/// that libyang read before, in order: imports are read depth-first, so the last file with such a statement is the
/// importing one.
pub(super) fn locate_import(
    error: &mut SchemaError,
    missing: &str,
    requested: &[String],
    source: &SchemaSource,
) {
    let found = requested.iter().rev().find_map(|file| {
        let (name, revision) = match file.split_once('@') {
            Some((name, revision)) => (name, Some(revision)),
            None => (file.as_str(), None),
        };
        let text = match find(source, name, revision) {
            Some(module) => &*module.text,
            None => standard::module(name, revision)?.text,
        };
        Some((file, import_line(text, missing)?))
    });
    if let Some((file, line)) = found {
        error.module.clone_from(file);
        error.line = line;
    }
}

fn import_line(text: &str, missing: &str) -> Option<u32> {
    let mut statements = Statements::new(text);
    let import = statements.find(|found| {
        matches!(found.keyword, "import" | "include") && found.argument.as_deref() == Some(missing)
    });
    import.map(|import| import.line)
}

fn belongs_to(module: &ModuleSource, main: &str) -> bool {
    Statements::new(&module.text)
        .take_while(|found| found.keyword != "import")
        .any(|found| found.keyword == "belongs-to" && found.argument.as_deref() == Some(main))
}

/// The module of the last step that has one, and the steps.
fn steps(path: &str) -> (Option<&str>, Vec<Step<'_>>) {
    let mut module = None;
    let mut steps = Vec::new();
    let mut rest = path.trim_start_matches('/');
    while !rest.is_empty() {
        let brace = rest.find('{').filter(|&brace| !rest[..brace].contains('/'));
        let end = match brace.and_then(|brace| rest[brace..].find("'}").map(|end| brace + end + 2))
        {
            Some(end) => end,
            None => rest.find('/').unwrap_or(rest.len()),
        };
        let (step, after) = rest.split_at(end);
        rest = after.trim_start_matches('/');
        let step = match step
            .split_once(':')
            .filter(|(prefix, _)| !prefix.contains('{'))
        {
            Some((prefix, step)) => {
                module = Some(prefix);
                step
            }
            None => step,
        };
        let special = step
            .strip_prefix('{')
            .and_then(|step| step.strip_suffix("'}"));
        steps.push(match special.and_then(|step| step.split_once("='")) {
            Some((keyword, argument)) => Step {
                keyword: Some(keyword),
                argument,
            },
            None => Step {
                keyword: None,
                argument: step,
            },
        });
    }
    (module, steps)
}

/// The match length of the best statement, and its line.
fn best_line(text: &str, steps: &[Step<'_>]) -> Option<(usize, u32)> {
    let mut ancestors: Vec<(&str, Option<Cow<'_, str>>)> = Vec::new();
    let mut best: Option<(usize, u32)> = None;
    for statement in Statements::new(text) {
        ancestors.truncate(statement.depth);
        let line = statement.line;
        ancestors.push((statement.keyword, argument(statement)));
        let match_length = match_length(&ancestors, steps);
        if match_length > best.map_or(0, |(most, _)| most) {
            best = Some((match_length, line));
        }
    }
    best
}

/// `input` and `output` have no argument, but are steps of paths.
fn argument(statement: Statement<'_>) -> Option<Cow<'_, str>> {
    match statement.keyword {
        keyword @ ("input" | "output") => Some(keyword.into()),
        _ => statement.argument,
    }
}

/// The number of steps, from the last one up, that match the statement and its ancestors; ancestors that are not in
/// paths (groupings, cases) are skipped.
fn match_length(ancestors: &[(&str, Option<Cow<'_, str>>)], steps: &[Step<'_>]) -> usize {
    let mut ancestors = ancestors.iter().rev();
    let Some((last, rest)) = steps.split_last() else {
        return 0;
    };
    if !ancestors
        .next()
        .is_some_and(|statement| matches_step(statement, last))
    {
        return 0;
    }
    let mut count = 1;
    for step in rest.iter().rev() {
        if ancestors
            .by_ref()
            .any(|statement| matches_step(statement, step))
        {
            count += 1;
        } else {
            break;
        }
    }
    count
}

const DEFINITIONS: [&str; 13] = [
    "container",
    "list",
    "leaf",
    "leaf-list",
    "choice",
    "case",
    "anydata",
    "anyxml",
    "rpc",
    "action",
    "notification",
    "input",
    "output",
];

fn matches_step((keyword, argument): &(&str, Option<Cow<'_, str>>), step: &Step<'_>) -> bool {
    let is_keyword = match step.keyword {
        Some(expected) => expected == *keyword,
        None => DEFINITIONS.contains(keyword),
    };
    is_keyword && argument.as_deref() == Some(step.argument)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_split_into_steps() {
        let (module, found) = steps("/a:{augment='/b:c/b:d'}/x/e:y");
        assert_eq!(module, Some("e"));
        let arguments: Vec<_> = found.iter().map(|step| step.argument).collect();
        assert_eq!(arguments, ["/b:c/b:d", "x", "y"]);
        assert_eq!(found[0].keyword, Some("augment"));
        assert_eq!(steps("/a:c/x").0, Some("a"));
        assert!(steps("").1.is_empty());
    }

    #[test]
    fn the_node_with_the_longest_path_match_wins() {
        let text = "module m {\n container a {\n leaf x; }\n grouping g {\n container b {\n leaf x;\n } } }";
        let at = |path: &str| best_line(text, &steps(path).1).map(|(_, line)| line);
        assert_eq!(at("/m:a/x"), Some(3));
        assert_eq!(at("/m:c/b/x"), Some(6));
        assert_eq!(at("/m:c/y"), None);
    }
}
