//! XPath queries on a view, as requests make them: the text is parsed each time.

use espalier_store::{Selected, View};
use espalier_yang::xpath::Expression;

use super::model_store::Model;
use espalier_terminal::{Failure, Result};

impl Model {
    /// Parses an expression: prefixes are module names, and names without a prefix belong to this module.
    pub fn expression(self, text: &str) -> Result<Expression> {
        let resolve = |prefix: Option<&str>| Some(prefix.unwrap_or(self.name).into());
        Expression::parse(text, &resolve).map_err(|error| Failure::data(error.to_string()))
    }

    /// The nodes that an expression selects.
    pub fn select(self, view: &View, text: &str) -> Result<Vec<Selected>> {
        Ok(view.select(&self.expression(text)?)?)
    }

    /// The node that an expression selects. Fails unless it is exactly one.
    pub fn select_one(self, view: &View, text: &str) -> Result<Selected> {
        let found = self.select(view, text)?;
        let count = found.len();
        let one = found.into_iter().next();
        one.filter(|_| count == 1)
            .ok_or_else(|| Failure::data(format!("wrong result: {count} nodes instead of one")))
    }
}
