//! Rewrites the expressions of mounted modules: their root is the instance of the mount point (RFC 8528 §4).

use crate::schema::{ModuleId, Schema};
use crate::xpath::{Axis, Expr, Expression, Function, LocationPath, NodeTest, PathStep};

/// A `parent-reference`: a path of nodes above the mount point that mounted expressions can read.
pub(super) struct ParentReference {
    steps: Vec<PathStep>,
}

impl ParentReference {
    /// Parses a path with module names as prefixes; the error names what is not supported.
    pub(super) fn parse(text: &str, schema: &Schema) -> Result<Self, String> {
        let invalid = |reason: &str| format!("the parent reference {text} {reason}");
        let module = |prefix: Option<&str>| {
            let known: Option<ModuleId> = schema.module_by_name(prefix?);
            known.map(|id| schema.module(id).name.clone())
        };
        let parsed = Expression::parse(text, &module)
            .map_err(|error| invalid(&format!("cannot be parsed: {error}")))?;
        let Expr::Path(LocationPath {
            is_absolute: true,
            steps,
        }) = parsed.root
        else {
            return Err(invalid("is not an absolute path"));
        };
        let is_named = |step: &PathStep| {
            step.axis == Axis::Child && matches!(step.test, NodeTest::Name(Some(_), _))
        };
        if steps.is_empty() || !steps.iter().all(is_named) {
            return Err(invalid("has a step that is not module:name"));
        }
        Ok(Self { steps })
    }

    /// An absolute path with the predicates of this reference; `None` if it leads elsewhere.
    fn apply(&self, path: &LocationPath, levels: usize) -> Option<LocationPath> {
        if path.steps.is_empty() {
            return None;
        }
        let mut path = path.clone();
        for (step, reference) in path.steps.iter_mut().zip(&self.steps) {
            if step.axis != Axis::Child || step.test != reference.test {
                return None;
            }
            let mut predicates = reference.predicates.clone();
            predicates
                .iter_mut()
                .for_each(|predicate| climb_from_current(predicate, levels));
            predicates.append(&mut step.predicates);
            step.predicates = predicates;
        }
        Some(path)
    }
}

/// Where an expression is evaluated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the context node.
    Context,
    /// At another node.
    Predicate,
}

/// Rewrites the expressions of one context node.
pub(super) struct Rewriter<'a> {
    /// The number of levels from the context node up to the mount point.
    pub(super) levels: usize,
    pub(super) references: &'a [ParentReference],
    /// Whether a top-level node is mounted.
    pub(super) is_mounted: &'a dyn Fn(&NodeTest) -> bool,
}

impl Rewriter<'_> {
    /// The expression with paths to the instance of the mount point instead of absolute ones.
    pub(super) fn rewrite(&self, expression: &Expression) -> Expression {
        let mut root = expression.root.clone();
        self.expr(&mut root, Place::Context);
        Expression {
            text: expression.text.clone(),
            root,
        }
    }

    fn expr(&self, expr: &mut Expr, place: Place) {
        match expr {
            Expr::Or(parts) | Expr::And(parts) | Expr::Union(parts) | Expr::Call(_, parts) => {
                parts.iter_mut().for_each(|part| self.expr(part, place));
            }
            Expr::Binary(_, left, right) => {
                self.expr(left, place);
                self.expr(right, place);
            }
            Expr::Negate(inner) => self.expr(inner, place),
            Expr::Filter {
                primary,
                predicates,
                steps,
            } => {
                self.expr(primary, place);
                self.predicates(predicates);
                self.steps(steps);
                if is_current(primary) && predicates.is_empty() && self.leaves_mount(steps) {
                    *expr = no_nodes();
                }
            }
            Expr::Path(path) => {
                self.steps(&mut path.steps);
                if path.is_absolute {
                    *expr = self.path_at_mount_point(path, place);
                } else if place == Place::Context && self.leaves_mount(&path.steps) {
                    *expr = no_nodes();
                }
            }
            Expr::Literal(_) | Expr::Number(_) | Expr::Variable(..) => {}
        }
    }

    fn steps(&self, steps: &mut [PathStep]) {
        for step in steps {
            self.predicates(&mut step.predicates);
        }
    }

    fn predicates(&self, predicates: &mut [Expr]) {
        for predicate in predicates {
            self.expr(predicate, Place::Predicate);
        }
    }

    /// Returns whether steps from the context node begin with a climb above the mount point.
    fn leaves_mount(&self, steps: &[PathStep]) -> bool {
        let ups = steps.iter().take_while(|step| step.axis == Axis::Parent);
        ups.count() > self.levels
    }

    /// An absolute path, from the instance of the mount point; or from the root if it leads to a parent reference.
    fn path_at_mount_point(&self, path: &LocationPath, place: Place) -> Expr {
        let references = self.references.iter();
        let mut found: Vec<Expr> = references
            .filter_map(|reference| reference.apply(path, self.levels))
            .map(Expr::Path)
            .collect();
        let first = path.steps.first();
        if found.is_empty() || first.is_some_and(|step| (self.is_mounted)(&step.test)) {
            found.insert(0, self.climb(&path.steps, place));
        }
        match <[Expr; 1]>::try_from(found) {
            Ok([only]) => only,
            Err(several) => Expr::Union(several),
        }
    }

    fn climb(&self, steps: &[PathStep], place: Place) -> Expr {
        let mut all = parents(self.levels);
        all.extend_from_slice(steps);
        match place {
            Place::Context if all.is_empty() => {
                relative(vec![PathStep::new(Axis::SelfNode, NodeTest::Node)])
            }
            Place::Context => relative(all),
            Place::Predicate => from_current(all),
        }
    }
}

/// Moves every `current()` of the predicate of a reference, which is the mount point, up from the context node.
fn climb_from_current(expr: &mut Expr, levels: usize) {
    match expr {
        Expr::Call(Function::Current, _) => *expr = from_current(parents(levels)),
        Expr::Or(parts) | Expr::And(parts) | Expr::Union(parts) | Expr::Call(_, parts) => {
            parts
                .iter_mut()
                .for_each(|part| climb_from_current(part, levels));
        }
        Expr::Binary(_, left, right) => {
            climb_from_current(left, levels);
            climb_from_current(right, levels);
        }
        Expr::Negate(inner) => climb_from_current(inner, levels),
        Expr::Filter {
            primary,
            predicates,
            steps,
        } => {
            match is_current(primary) {
                true => drop(steps.splice(..0, parents(levels))),
                false => climb_from_current(primary, levels),
            }
            let in_steps = steps.iter_mut().flat_map(|step| &mut step.predicates);
            predicates
                .iter_mut()
                .chain(in_steps)
                .for_each(|part| climb_from_current(part, levels));
        }
        Expr::Path(path) => {
            let predicates = path.steps.iter_mut().flat_map(|step| &mut step.predicates);
            predicates.for_each(|part| climb_from_current(part, levels));
        }
        Expr::Literal(_) | Expr::Number(_) | Expr::Variable(..) => {}
    }
}

/// This many steps `..`.
pub(super) fn parents(levels: usize) -> Vec<PathStep> {
    vec![PathStep::new(Axis::Parent, NodeTest::Node); levels]
}

/// A path from the context node.
pub(super) fn relative(steps: Vec<PathStep>) -> Expr {
    Expr::Path(LocationPath {
        is_absolute: false,
        steps,
    })
}

fn from_current(steps: Vec<PathStep>) -> Expr {
    let current = Expr::Call(Function::Current, Vec::new());
    if steps.is_empty() {
        return current;
    }
    Expr::Filter {
        primary: Box::new(current),
        predicates: Vec::new(),
        steps,
    }
}

fn is_current(expr: &Expr) -> bool {
    matches!(expr, Expr::Call(Function::Current, _))
}

/// A path without nodes: the root has no parent.
fn no_nodes() -> Expr {
    let mut step = PathStep::new(Axis::SelfNode, NodeTest::Node);
    step.predicates = vec![Expr::Call(Function::False, Vec::new())];
    relative(vec![step])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Expression {
        Expression::parse(text, &|prefix| prefix.map(Into::into)).unwrap()
    }

    #[track_caller]
    fn check(text: &str, levels: usize, expected: &str) {
        let references = [ParentReference {
            steps: match parse("/p:list/p:entry[p:of = current()/../h:name]").root {
                Expr::Path(path) => path.steps,
                _ => Vec::new(),
            },
        }];
        let rewriter = Rewriter {
            levels,
            references: &references,
            is_mounted: &|test| *test != NodeTest::Name(Some("p".into()), "list".into()),
        };
        assert_eq!(
            rewriter.rewrite(&parse(text)).to_string(),
            parse(expected).to_string()
        );
    }

    #[test]
    fn absolute_paths_start_at_the_mount_point() {
        check("/m:a/m:b", 2, "../../m:a/m:b");
        check(
            "count(/m:a[m:k = /m:b]) > 1",
            1,
            "count(../m:a[m:k = current()/../m:b]) > 1",
        );
        check("/", 0, ".");
        check("/m:a", 0, "m:a");
        check("../m:a", 2, "../m:a");
    }

    #[test]
    fn nothing_is_above_the_mount_point() {
        check("../../m:a", 1, "self::node()[false()]");
        check("current()/../../m:a", 1, "self::node()[false()]");
        check("../m:a", 1, "../m:a");
    }

    #[test]
    fn a_parent_reference_starts_at_the_root() {
        check(
            "/p:list/p:entry[p:x = 1]/p:name",
            2,
            "/p:list/p:entry[p:of = current()/../../../h:name][p:x = 1]/p:name",
        );
        check("/p:list", 2, "/p:list");
        check("/p:list/p:other", 2, "../../p:list/p:other");
    }
}
