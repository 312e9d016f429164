//! The effective `unique` statements of a list (RFC 7950 §7.8.3).
//!
//! A `unique` constrains the entries in which all of its leaves exist. If the `if-feature` of one of them is false,
//! there are no such entries. libyang removes that leaf from the statement and keeps the others, which is a stricter
//! constraint than that of the model. So a compiled statement is kept only if it has all the leaves that the model
//! names.

// libyang drops disabled leaves from a compiled `unique`: docs/decisions/0023.
/// A `unique` statement as in the model: the segments of each path, without prefixes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UniqueStatement<'c>(Vec<Vec<&'c str>>);

impl<'c> UniqueStatement<'c> {
    /// Parses the argument of a statement.
    pub(super) fn parse(argument: &'c str) -> Self {
        Self(argument.split_ascii_whitespace().map(segments).collect())
    }

    /// Returns whether it has exactly these leaves, each given by the data nodes from the list down to it.
    pub(super) fn has_leaves(&self, leaves: &[Vec<&str>]) -> bool {
        self.0.len() == leaves.len()
            && self
                .0
                .iter()
                .zip(leaves)
                .all(|(path, leaf)| leads_to(path, leaf))
    }
}

/// The names of a schema node identifier, without prefixes.
pub(super) fn segments(path: &str) -> Vec<&str> {
    let names = path.split('/').filter(|name| !name.is_empty());
    names
        .map(|name| name.split_once(':').map_or(name, |(_, local)| local))
        .collect()
}

/// Returns whether a schema node identifier leads to a data node: it also contains the choices and cases on the path.
pub(super) fn leads_to(path: &[&str], data_nodes: &[&str]) -> bool {
    let mut rest = path.iter();
    path.last() == data_nodes.last()
        && data_nodes
            .iter()
            .all(|name| rest.any(|segment| segment == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_matches_only_all_its_leaves() {
        let statement = UniqueStatement::parse("a\n  p:c/p:ch/p:cs/p:b");
        assert!(statement.has_leaves(&[vec!["a"], vec!["c", "b"]]));
        assert!(!statement.has_leaves(&[vec!["a"]]));
        assert!(!statement.has_leaves(&[vec!["c", "b"], vec!["a"]]));
        assert!(!statement.has_leaves(&[vec!["a"], vec!["c"]]));
    }
}
