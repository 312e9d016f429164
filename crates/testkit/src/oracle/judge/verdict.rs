//! The result of validating an edit.

use std::fmt;

use espalier_yang::schema::SchemaSource;

use super::ffi::{Context, Node, Nodes, Tree};

/// One error of libyang.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// The message.
    pub message: String,
    /// The path of the data node, if libyang reports it.
    pub path: String,
    /// The path of the schema node, if libyang reports it.
    pub schema_path: String,
    /// The `error-app-tag`.
    pub app_tag: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            message,
            path,
            schema_path,
            app_tag,
        } = self;
        write!(f, "{message} at {path:?} {schema_path:?} {app_tag:?}")
    }
}

impl Problem {
    /// Whether the error is a false `when`.
    pub fn is_when(&self) -> bool {
        self.message.starts_with("When condition")
    }
}

/// The result of an edit.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The error, if the edit is invalid.
    pub problem: Option<Problem>,
    /// The tree after the edit and the deletions by `when`, as JSON, without defaults; for an invalid edit,
    /// the tree at the error.
    pub tree: String,
    /// The paths of the nodes deleted by `when`.
    pub deleted: Vec<String>,
    /// Whether a deleted node was created or changed by the edit. RFC 7950 does not define whether such an
    /// edit is invalid.
    pub is_disputed: bool,
    /// Whether libyang left conditions untested; then the result is meaningless.
    pub is_undecided: bool,
}

/// Validates edits for a schema.
pub struct Judge {
    /// The modules.
    context: Context,
    /// The same without conditions, to create defaults.
    unconditional: Context,
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Judge")
    }
}

impl Judge {
    /// Compiles modules (each must follow those that it imports), and the same modules without their `when`
    /// statements. Returns the error of libyang.
    pub fn new(source: &SchemaSource, unconditional: &SchemaSource) -> Result<Self, Problem> {
        Ok(Self {
            context: Context::new(&source.modules)?,
            unconditional: Context::new(&unconditional.modules)?,
        })
    }

    /// Parses a document and prints it.
    pub fn read(&self, json: &str) -> Result<String, Problem> {
        Ok(self.context.parse(json)?.print(Nodes::Explicit))
    }

    /// Validates an edit that changes `old` to `new`. Both are JSON, without defaults.
    ///
    /// # Panics
    /// If libyang cannot parse them.
    pub fn verdict(&self, old: &str, new: &str) -> Verdict {
        let parse = |json: &str| {
            let parsed = self.context.parse(json);
            parsed.unwrap_or_else(|problem| panic!("{problem}\n{json}"))
        };
        let old = parse(old);
        let mut explicit = parse(new);
        let mut verdict = Verdict {
            problem: None,
            tree: String::new(),
            deleted: Vec::new(),
            is_disputed: false,
            is_undecided: false,
        };
        let mut unused_defaults: Vec<String> = Vec::new();
        loop {
            verdict.tree = explicit.print(Nodes::Explicit);
            let mut tree = self.with_defaults(&verdict.tree);
            for path in &unused_defaults {
                tree.remove(path);
            }
            let Err(problems) = tree.validate() else {
                verdict.is_undecided = tree.has_untested_conditions();
                return verdict;
            };
            let Some(problem) = problems.iter().find(|problem| problem.is_when()) else {
                // A `deref()` of a dangling reference: libyang stops and does not test further conditions.
                verdict.is_undecided = problems.iter().all(|problem| problem.path.is_empty());
                verdict.problem = problems.into_iter().next();
                return verdict;
            };
            let false_ones = problems.iter().filter(|problem| problem.is_when());
            let outermost = outermost(false_ones.map(|problem| &*problem.path), &problem.path);
            match tree.find(outermost) {
                Some(node) if node.is_default() => unused_defaults.push(outermost.to_owned()),
                Some(_) if is_unchanged(&explicit, &old, outermost) => {
                    let node = explicit.find(outermost).expect("it is explicit");
                    verdict.is_disputed |= !is_all_unchanged(node, &old);
                    explicit.remove(outermost);
                    verdict.deleted.push(outermost.to_owned());
                }
                _ => {
                    verdict.problem = Some(problem.clone());
                    return verdict;
                }
            }
        }
    }

    /// The tree with the defaults that it has without conditions.
    fn with_defaults(&self, json: &str) -> Tree<'_> {
        let mut complete = self.unconditional.parse(json).expect("libyang's own JSON");
        complete.add_defaults();
        let mut tree = self
            .context
            .parse(&complete.print(Nodes::All))
            .expect("libyang's own JSON");
        tree.copy_defaults(&complete);
        tree
    }
}

/// The path of the outermost node with a false condition that contains a node; the node is deleted with it.
fn outermost<'p>(paths: impl Iterator<Item = &'p str>, path: &'p str) -> &'p str {
    let around = paths.filter(|around| {
        let rest = path.strip_prefix(around);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    around.min_by_key(|around| around.len()).unwrap_or(path)
}

/// Whether a node existed before with the same value.
fn is_unchanged(tree: &Tree<'_>, old: &Tree<'_>, path: &str) -> bool {
    match (tree.find(path), old.find(path)) {
        (Some(node), Some(before)) => node.value() == before.value(),
        _ => false,
    }
}

/// Whether a node and its whole subtree existed before.
fn is_all_unchanged(node: Node<'_>, old: &Tree<'_>) -> bool {
    let is_same = |node: Node<'_>| {
        let before = old.find(&node.path());
        before.is_some_and(|before| before.value() == node.value())
    };
    let mut next = vec![node];
    while let Some(node) = next.pop() {
        if !is_same(node) {
            return false;
        }
        let mut child = node.child();
        while let Some(node) = child {
            next.push(node);
            child = node.next();
        }
    }
    true
}
