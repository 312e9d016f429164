//! Required children: mandatory nodes (RFC 7950 §7.6.5, §7.10.3), mandatory choices (§7.9.4), and the number of entries
//! of lists and leaf-lists (§7.7.5, §7.7.6).

use super::checker::Checker;
use super::leafref_target::climb;
use super::plan::element_limits;
use crate::error::{DataError, ErrorTag};
use crate::instances::Instances;
use crate::path::Keys;
use crate::schema::{CaseChoice, NodeId};
use crate::xpath::evaluate::Item;

impl<T: Instances> Checker<'_, T> {
    /// Checks the required children of an instance.
    pub fn required_children(&mut self, at: &T::Inner) -> Result<(), T::Error> {
        let plan = self.plan;
        let Some(required) = plan.required_children(self.data.node(at)) else {
            return Ok(());
        };
        for &node in &required.mandatory {
            if self.data.leaf(at, node)?.is_none() && self.is_required(at, node)? {
                let message = format!(
                    "{} is mandatory, and missing",
                    self.schema().node(node).name
                );
                let error = DataError::new(ErrorTag::DataMissing, message);
                let path = self.data.path(at)?.child(node, Keys::None);
                self.report_at(&path, error);
            }
        }
        for &choice in &required.choices {
            self.mandatory_choice(at, choice)?;
        }
        for &node in &required.elements {
            self.check_elements(at, node)?;
        }
        Ok(())
    }

    /// RFC 7950 §15.6.
    fn mandatory_choice(&mut self, at: &T::Inner, index: u32) -> Result<(), T::Error> {
        let choice = &self.schema().choices()[index as usize];
        if self.evaluator.case_of(at, index)?.is_some()
            || !self.is_case_selected(at, choice.enclosing.last())?
        {
            return Ok(());
        }
        for when in &choice.whens {
            let context = climb(self.data, at, when.context_levels_up.into());
            let context = Item::Inner(context.unwrap_or_else(|| self.data.root()));
            if !self.evaluator.test_shared(&when.expression, &context)? {
                return Ok(());
            }
        }
        let message = format!("one case of the choice {} is mandatory", choice.name);
        let error = DataError::new(ErrorTag::DataMissing, message)
            .with_app_tag("missing-choice")
            .of_choice(&*choice.name);
        self.report(&Item::Inner(at.clone()), error)
    }

    /// RFC 7950 §15.2, §15.3. The message is without the number of entries: some may be hidden from the user.
    fn check_elements(&mut self, at: &T::Inner, node: NodeId) -> Result<(), T::Error> {
        let (min, max) = element_limits(&self.schema().node(node).kind);
        let count = self.data.count(at, node)?;
        let name = &self.schema().node(node).name;
        let error = if max.is_some_and(|max| count > u64::from(max)) {
            let max = max.unwrap_or_default();
            let message = format!("{name} has more than {max} entries");
            DataError::new(ErrorTag::OperationFailed, message).with_app_tag("too-many-elements")
        } else if count < u64::from(min) && self.is_required(at, node)? {
            let message = format!("{name} has fewer than {min} entries");
            DataError::new(ErrorTag::OperationFailed, message).with_app_tag("too-few-elements")
        } else {
            return Ok(());
        };
        let path = self.data.path(at)?.child(node, Keys::None);
        self.report_at(&path, error);
        Ok(())
    }

    /// Returns whether a mandatory child of an existing instance is required: its case is selected, and its `when`s
    /// are true.
    fn is_required(&self, at: &T::Inner, node: NodeId) -> Result<bool, T::Error> {
        let node = self.schema().node(node);
        Ok(self.is_case_selected(at, node.cases.last())? && self.failing_when(node, at)?.is_none())
    }

    fn is_case_selected(&self, at: &T::Inner, case: Option<&CaseChoice>) -> Result<bool, T::Error> {
        match case {
            None => Ok(true),
            Some(case) => Ok(self.evaluator.case_of(at, case.choice)? == Some(case.case)),
        }
    }
}
