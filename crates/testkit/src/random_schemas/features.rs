//! The features that generated schemas use, counted by name.

use std::collections::BTreeMap;

/// Every feature that a long run should use.
pub const FEATURES: &[&str] = &[
    "anydata",
    "augment",
    "augment of another module",
    "bits",
    "case",
    "choice",
    "choice default",
    "choice in a choice",
    "choice mandatory",
    "container",
    "container with presence",
    "decimal64",
    "deviate add",
    "deviate delete",
    "deviate replace",
    "default",
    "empty",
    "enumeration",
    "feature off",
    "grouping of another module",
    "identityref",
    "if-feature",
    "instance-identifier",
    "key of several leaves",
    "leaf-list",
    "leaf-list default",
    "leaf-list ordered by user",
    "leafref",
    "leafref absolute",
    "leafref as key",
    "leafref chain",
    "leafref default",
    "leafref in a grouping of another module",
    "leafref not required",
    "leafref to leaf-list",
    "leafref with predicate",
    "list",
    "list in a list",
    "list ordered by user",
    "mandatory",
    "mandatory in a case",
    "max-elements",
    "min-elements",
    "must",
    "must app-tag",
    "must in a grouping of another module",
    "must on container",
    "must on leaf",
    "must on leaf-list",
    "must on list",
    "must on presence container",
    "not-supported",
    "refine",
    "shorthand case",
    "submodule",
    "typedef default",
    "union",
    "union with leafref",
    "unique",
    "unique below",
    "unique of several",
    "uses",
    "when",
    "when in a grouping of another module",
    "when in augment",
    "when in uses",
    "when on anydata",
    "when on case",
    "when on choice",
    "when on container",
    "when on leaf",
    "when on leaf-list",
    "when on list",
    "when on presence container",
    "when reads default",
    "when reads when",
    "when with default",
    "xpath absolute",
    "xpath ancestor",
    "xpath and",
    "xpath bit-is-set",
    "xpath boolean",
    "xpath compares nodes",
    "xpath concat",
    "xpath contains",
    "xpath count",
    "xpath current",
    "xpath deref",
    "xpath derived-from",
    "xpath derived-from-or-self",
    "xpath descendant",
    "xpath div",
    "xpath enum-value",
    "xpath existence",
    "xpath floor",
    "xpath following-sibling",
    "xpath join by key",
    "xpath last",
    "xpath local-name",
    "xpath mod",
    "xpath not",
    "xpath number",
    "xpath or",
    "xpath position",
    "xpath preceding-sibling",
    "xpath predicate",
    "xpath re-match",
    "xpath rival entries",
    "xpath two joins",
    "xpath string-length",
    "xpath substring",
    "xpath sum",
    "xpath translate",
    "xpath union",
    "xpath wildcard",
];

/// The number of uses of each feature.
#[derive(Clone, Debug, Default)]
pub struct Features {
    counts: BTreeMap<&'static str, u64>,
}

impl Features {
    /// Counts a feature.
    ///
    /// # Panics
    /// If it is not one of [`FEATURES`].
    pub fn note(&mut self, feature: &'static str) {
        assert!(FEATURES.contains(&feature), "{feature} is not listed");
        *self.counts.entry(feature).or_default() += 1;
    }

    /// Adds the counts of another schema.
    pub fn add(&mut self, other: &Self) {
        for (feature, count) in &other.counts {
            *self.counts.entry(feature).or_default() += count;
        }
    }

    /// The number of uses of a feature.
    pub fn count(&self, feature: &str) -> u64 {
        self.counts.get(feature).copied().unwrap_or(0)
    }

    /// The features of [`FEATURES`] that were never used.
    pub fn missing(&self) -> Vec<&'static str> {
        let is_missing = |feature: &&&str| self.count(feature) == 0;
        FEATURES.iter().filter(is_missing).copied().collect()
    }
}
