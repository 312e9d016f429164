//! The stored form of a plan.

use super::plan::{RuleId, ValidationPlan};
use crate::Schema;
use crate::schema::stored::{StoredFormError, decode};

impl ValidationPlan {
    /// Loads the plan of a schema from its stored form, which [`encode`](crate::schema::stored::encode) returns.
    ///
    /// # Errors
    /// If the bytes are not the plan of this schema.
    pub fn from_stored(bytes: &[u8], schema: &Schema) -> Result<Self, StoredFormError> {
        let plan: Self = schema.bounds().decode(|| decode(bytes))?;
        if plan.fits(schema) {
            return Ok(plan);
        }
        Err(StoredFormError::new(
            "the constraints are of another schema",
        ))
    }

    /// Returns whether the lists by node, the rule ids and the choice indexes fit a schema.
    fn fits(&self, schema: &Schema) -> bool {
        let nodes = schema.nodes().len();
        let flags = [
            &self.has_rules,
            &self.affects_rules,
            &self.indexed,
            &self.counted,
            &self.summed,
            &self.ordered,
        ];
        let lens = [
            self.triggers.len(),
            self.own_rules.len(),
            self.referrers.len(),
            self.anchored.len().wrapping_sub(1),
            self.index_holders.len().wrapping_sub(1),
            self.is_watched.len().wrapping_sub(1),
        ];
        let required_children = || self.required_children.values();
        let triggers = self.triggers.values().map(|trigger| trigger.rule);
        let rules = triggers
            .chain(self.own_rules.values().copied())
            .chain(self.anchored.values().copied())
            .chain(required_children().filter_map(|content| content.rule))
            .chain(self.references.values().copied())
            .chain(self.unbounded_rules.iter().copied())
            .chain(self.instance_identifiers.iter().copied());
        let mut choices = required_children().flat_map(|content| &content.choices);
        let is_rule = |rule: RuleId| (rule.0 as usize) < self.rules.len();
        flags.iter().all(|flags| flags.len() == nodes)
            && lens.iter().all(|&len| len == nodes)
            && rules.into_iter().all(is_rule)
            && choices.all(|&choice| (choice as usize) < schema.choices().len())
    }
}
