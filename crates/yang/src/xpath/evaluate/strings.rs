//! String functions (XPath 1.0 §4.2). Lengths and positions are in characters.

use super::evaluator::Env;
use super::functions::rounded;
use super::{Evaluator, Object};
use crate::instances::Instances;
use crate::xpath::{Expr, Function};

impl<T: Instances> Evaluator<'_, T> {
    /// The value of a call of a string function.
    pub(super) fn string_function(
        &self,
        function: Function,
        arguments: &[Expr],
        env: &Env<'_, T>,
    ) -> Result<Object<T>, T::Error> {
        if function == Function::Concat {
            let mut text = String::new();
            for argument in arguments {
                text.push_str(&self.text(argument, env)?);
            }
            return Ok(Object::string(text));
        }
        let first = self.argument_text(arguments, 0, env)?;
        if arguments.len() < 2 {
            return Ok(match function {
                Function::StringLength => Object::Number(first.chars().count() as f64),
                Function::NormalizeSpace => Object::string(normalized(&first)),
                _ => Object::String(first),
            });
        }
        if function == Function::Substring {
            let start = self.number(&arguments[1], env)?;
            let length = match arguments.get(2) {
                Some(length) => self.number(length, env)?,
                None => f64::INFINITY,
            };
            return Ok(Object::string(substring(&first, start, length)));
        }
        let second = self.text(&arguments[1], env)?;
        Ok(match function {
            Function::StartsWith => Object::Boolean(first.starts_with(&*second)),
            Function::Contains => Object::Boolean(first.contains(&*second)),
            Function::SubstringBefore => {
                Object::string(first.split_once(&*second).map_or("", |(before, _)| before))
            }
            Function::SubstringAfter => {
                Object::string(first.split_once(&*second).map_or("", |(_, after)| after))
            }
            _ => {
                let third = self.argument_text(arguments, 2, env)?;
                Object::string(translated(&first, &second, &third))
            }
        })
    }
}

/// `normalize-space()`.
fn normalized(text: &str) -> String {
    let words = text.split([' ', '\t', '\n', '\r']);
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// The characters at positions from the rounded start, up to the rounded length; comparisons with NaN are false.
fn substring(text: &str, start: f64, length: f64) -> String {
    let (start, end) = (rounded(start), rounded(start) + rounded(length));
    let positioned = (1u32..).map(f64::from).zip(text.chars());
    let within = positioned.filter(|(position, _)| *position >= start && *position < end);
    within.map(|(_, character)| character).collect()
}

/// `translate()`: the first occurrence in `from` is used; a character without counterpart is removed.
fn translated(text: &str, from: &str, to: &str) -> String {
    let replaced = text.chars().filter_map(|character| {
        match from.chars().position(|candidate| candidate == character) {
            Some(position) => to.chars().nth(position),
            None => Some(character),
        }
    });
    replaced.collect()
}
