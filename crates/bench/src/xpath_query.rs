//! Asking a view by XPath, as a request does: the text is parsed each time.

use espalier_store::{Selected, View};
use espalier_yang::xpath::Expression;

use super::model_store::Model;
use espalier_terminal::{Failure, Result};

impl Model {
    /// Parses an expression: prefixes are names of modules, and names without one are of this
    /// module.
    pub fn expression(self, text: &str) -> Result<Expression> {
        let resolve = |prefix: Option<&str>| Some(prefix.unwrap_or(self.name).into());
        Expression::parse(text, &resolve).map_err(|error| Failure::data(error.to_string()))
    }

    /// The nodes that an expression gives.
    pub fn select(self, view: &View, text: &str) -> Result<Vec<Selected>> {
        Ok(view.select(&self.expression(text)?)?)
    }

    /// What an expression gives, which must be one node.
    pub fn select_one(self, view: &View, text: &str) -> Result<Selected> {
        let found = self.select(view, text)?;
        let count = found.len();
        let one = found.into_iter().next();
        one.filter(|_| count == 1)
            .ok_or_else(|| Failure::data(format!("wrong answer: {count} nodes instead of one")))
    }
}
