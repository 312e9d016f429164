//! Value paths: the position of a number in nested values.

use std::fmt;
use std::sync::Arc;

use crate::limits::{PATH_BYTES_MAX, PATH_NAMES_MAX};
use crate::{Error, Result};

/// The names that lead to a value, separated by dots: `http.status.200`.
///
/// A dot in a name is written `\.`, a backslash `\\`, and a name that is a star `\*`, so that every name is
/// possible and every path has exactly one text form. No name is empty: in nested values the empty name
/// stands for the number of the path itself ([`crate::NestedValues`]).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Arc<str>);

impl Path {
    /// A path from its names, the outermost first.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut text = String::new();
        let (mut count, mut is_nameless) = (0, false);
        for name in names {
            if count > 0 {
                text.push('.');
            }
            count += 1;
            put_name(&mut text, name);
            is_nameless |= name.is_empty();
        }
        check(&text, count)?;
        if is_nameless {
            return Err(empty_name(&text));
        }
        Ok(Self(text.into()))
    }

    /// Parses the text form of a path.
    pub fn parse(text: &str) -> Result<Self> {
        let names = split(text)?;
        if names.iter().any(|name| matches!(name, Step::Any)) {
            return Err(Error::syntax(format!(
                "{text:?} has a wildcard, but must be the path of one value; write \\* for a name that is a star"
            )));
        }
        Self::of(names.iter().map(Step::name))
    }

    /// The path of a metric in the system metric; as long as the metric's name.
    pub(crate) fn listing(name: &str) -> Self {
        let mut text = String::from("keys.");
        put_name(&mut text, name);
        Self(text.into())
    }

    /// A path from storage, which was validated before.
    pub(crate) fn stored(text: &[u8]) -> Result<Self> {
        std::str::from_utf8(text)
            .map(|text| Self(text.into()))
            .map_err(|_| Error::corrupt("a stored path is not valid text"))
    }

    /// The names, the outermost first.
    pub fn names(&self) -> Vec<String> {
        let steps = split(&self.0).unwrap_or_default();
        steps.iter().map(|step| step.name().to_owned()).collect()
    }

    /// The text form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is a descendant of another path.
    pub(crate) fn is_below(&self, other: &Self) -> bool {
        let rest = self.0.strip_prefix(&*other.0);
        rest.is_some_and(|rest| rest.starts_with('.'))
    }

    /// The path with one more name.
    pub fn child(&self, name: &str) -> Result<Self> {
        let mut text = self.0.to_string();
        text.push('.');
        put_name(&mut text, name);
        if name.is_empty() {
            return Err(empty_name(&text));
        }
        check(&text, split(&text)?.len())?;
        Ok(Self(text.into()))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for Path {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

/// A path whose names may be `*`, which matches any one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Name(String),
    Any,
}

impl Step {
    fn name(&self) -> &str {
        match self {
            Self::Name(name) => name,
            Self::Any => "*",
        }
    }
}

/// The result of matching a path with a [`Pattern`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternMatch {
    /// It matches.
    Exact,
    /// Its parent matches.
    Child,
    /// Neither matches.
    None,
}

impl Pattern {
    /// Parses the text form of a pattern.
    pub fn parse(text: &str) -> Result<Self> {
        let steps = split(text)?;
        Ok(Self { steps })
    }

    /// Matches `path` with this pattern.
    pub fn match_path(&self, path: &Path) -> PatternMatch {
        let names = path.names();
        let is_match = self.steps.len() <= names.len()
            && self
                .steps
                .iter()
                .zip(&names)
                .all(|(step, name)| match step {
                    Step::Any => true,
                    Step::Name(expected) => expected == name,
                });
        match names.len().checked_sub(self.steps.len()) {
            Some(0) if is_match => PatternMatch::Exact,
            Some(1) if is_match => PatternMatch::Child,
            _ => PatternMatch::None,
        }
    }
}

impl std::str::FromStr for Pattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

fn put_name(text: &mut String, name: &str) {
    if name == "*" {
        text.push_str("\\*");
        return;
    }
    for letter in name.chars() {
        if matches!(letter, '.' | '\\') {
            text.push('\\');
        }
        text.push(letter);
    }
}

fn split(text: &str) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    let mut name = String::new();
    let mut escaped = false;
    let mut letters = text.chars();
    loop {
        match letters.next() {
            Some('\\') => match letters.next() {
                Some(letter @ ('.' | '\\' | '*')) => {
                    name.push(letter);
                    escaped = true;
                }
                _ => {
                    let message = format!(
                        "{text:?} has a backslash that is not followed by a dot, a star or a backslash"
                    );
                    return Err(Error::syntax(message));
                }
            },
            Some('.') => steps.push(step(
                std::mem::take(&mut name),
                std::mem::take(&mut escaped),
            )),
            Some(letter) => name.push(letter),
            None => {
                steps.push(step(name, escaped));
                return Ok(steps);
            }
        }
    }
}

fn step(name: String, escaped: bool) -> Step {
    if name == "*" && !escaped {
        Step::Any
    } else {
        Step::Name(name)
    }
}

fn empty_name(text: &str) -> Error {
    Error::syntax(format!(
        "{text:?} has an empty name; separate the names of a path by one dot"
    ))
}

fn check(text: &str, names: usize) -> Result<()> {
    if names == 0 {
        return Err(Error::syntax("a value must have a name"));
    }
    if text.len() > PATH_BYTES_MAX {
        return Err(Error::limit(format!(
            "a path of {} bytes exceeds the limit of {PATH_BYTES_MAX}",
            text.len()
        )));
    }
    if names > PATH_NAMES_MAX {
        return Err(Error::limit(format!(
            "values nested {names} deep exceed the limit of {PATH_NAMES_MAX}"
        )));
    }
    Ok(())
}
