//! The errors of texts that are not values of a type.

use std::borrow::Cow;
use std::fmt;

use super::encoding::Encoding;
use crate::error::{DataError, ErrorTag};
use crate::schema::other_modules::OTHER;
use crate::schema::{Intervals, Pattern, Type, TypeKind};

/// A text that is not a value of a type. The `error-tag` is always `invalid-value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    /// What is wrong and what is expected, or the model's `error-message`.
    pub message: String,
    /// The model's `error-app-tag`.
    pub app_tag: Option<Box<str>>,
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ValueError {}

impl From<ValueError> for DataError {
    fn from(error: ValueError) -> Self {
        Self {
            app_tag: error.app_tag.map(|tag| Cow::Owned(tag.into())),
            ..Self::new(ErrorTag::InvalidValue, error.message)
        }
    }
}

/// The cause of a [`ValueError`], before its message is formatted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mismatch<'t> {
    /// Wrong JSON encoding for this type.
    Encoding,
    /// Wrong lexical form for this type.
    Malformed,
    /// More fraction digits than the type has.
    FractionDigits(u8),
    /// Outside the built-in type's own range.
    TooLarge,
    /// Outside the `range`.
    Range(&'t Intervals),
    /// Outside the `length`.
    Length(&'t Intervals),
    /// Does not match the `pattern`, or matches an inverted one.
    Pattern(&'t Pattern),
    /// Contains a control character.
    Character(char),
    /// Names a bit twice.
    DuplicateBit,
    /// No prefix of the document, or the namespace of a module whose name is not known.
    UnknownNamespace,
    /// No such identity.
    NoIdentity,
    /// The identity is not derived from the base.
    NotDerived,
    /// No member of the union accepts it.
    NoMember,
}

/// The maximum number of characters of a value in messages.
const TEXT_IN_MESSAGE_MAX: usize = 100;

impl Mismatch<'_> {
    pub(super) fn into_error(self, of: &Type, text: &str, encoding: Encoding) -> ValueError {
        let (message, app_tag) = match self {
            Self::Range(intervals) | Self::Length(intervals) => {
                (&intervals.error_message, &intervals.error_app_tag)
            }
            Self::Pattern(pattern) => (&pattern.error_message, &pattern.error_app_tag),
            _ => (&None, &None),
        };
        ValueError {
            message: match message {
                Some(message) => message.to_string(),
                None => self.describe(of, text, encoding),
            },
            app_tag: app_tag.clone(),
        }
    }

    fn describe(self, of: &Type, text: &str, encoding: Encoding) -> String {
        let name = &of.name;
        let text = match of.has_secret_values() {
            true => "the value".to_owned(),
            false => truncated(text),
        };
        match self {
            Self::Encoding => {
                let found = encoding.article_and_name();
                let expected = Encoding::expected(resolved(&of.kind));
                format!("the type {name} requires {expected}, not {found}")
            }
            Self::Malformed => match allowed_names(&of.kind) {
                Some(names) => format!("{text} is not a value of {name}: {names}"),
                None => format!("{text} is not a value of {name}"),
            },
            Self::FractionDigits(digits) => {
                format!("{text} has more than the {digits} fraction digits of {name}")
            }
            Self::TooLarge => format!("{text} is out of the range of {name}"),
            Self::Range(range) => {
                let digits = match resolved(&of.kind) {
                    TypeKind::Decimal64(digits, _) => *digits,
                    _ => 0,
                };
                format!(
                    "{text} is not in the range {}",
                    format_intervals(range, digits)
                )
            }
            Self::Length(length) => {
                format!(
                    "the length of {text} is not in {}",
                    format_intervals(length, 0)
                )
            }
            Self::Pattern(pattern) if pattern.is_inverted => {
                format!(
                    "{text} matches the pattern {}, and must not",
                    pattern.regex.source()
                )
            }
            Self::Pattern(pattern) => {
                format!(
                    "{text} does not match the pattern {}",
                    pattern.regex.source()
                )
            }
            Self::Character(_) if of.has_secret_values() => {
                "a character of the value is not allowed in YANG strings".to_owned()
            }
            Self::Character(character) => {
                let code = u32::from(character);
                format!("the character U+{code:04X} is not allowed in YANG strings")
            }
            Self::DuplicateBit => format!("a bit is named twice in {text}"),
            Self::UnknownNamespace => format!(
                "{text} has a prefix whose module is unknown: in XML, declare the namespace {OTHER}NAME for the module NAME, or write JSON, where the prefix is the name"
            ),
            Self::NoIdentity => format!("there is no identity {text}"),
            Self::NotDerived => {
                format!("the identity {text} is not derived from the base of {name}")
            }
            Self::NoMember => {
                let members = describe_members(&of.kind);
                format!("{text} is not a value of any member of the union {name}: {members}")
            }
        }
    }
}

fn resolved(kind: &TypeKind) -> &TypeKind {
    match kind {
        TypeKind::LeafRef { target_type, .. } => resolved(&target_type.kind),
        _ => kind,
    }
}

/// The maximum number of names in a list.
const NAMES_MAX: usize = 20;

fn allowed_names(kind: &TypeKind) -> Option<String> {
    let names: Vec<&str> = match resolved(kind) {
        TypeKind::Enumeration(items) => items.iter().map(|item| &*item.name).collect(),
        TypeKind::Bits(bits) => bits.iter().map(|bit| &*bit.name).collect(),
        TypeKind::Boolean => vec!["true", "false"],
        _ => return None,
    };
    let shown = names.len().min(NAMES_MAX);
    let more = if names.len() > shown { ", ..." } else { "" };
    Some(format!("{}{more}", names[..shown].join(", ")))
}

/// The maximum length of a pattern in a list of members.
const PATTERN_BYTES_MAX: usize = 60;

/// Describes the members of a union, in their order.
fn describe_members(kind: &TypeKind) -> String {
    let TypeKind::Union(members) = resolved(kind) else {
        return String::new();
    };
    let shown = members.len().min(NAMES_MAX);
    let descriptions: Vec<String> = members[..shown].iter().map(describe_member).collect();
    let more = if members.len() > shown { ", ..." } else { "" };
    format!("{}{more}", descriptions.join(", "))
}

/// Describes a member of a union: its type, and its restriction.
fn describe_member(member: &Type) -> String {
    let name = &member.name;
    let restriction = match resolved(&member.kind) {
        kind @ TypeKind::Union(_) => Some(describe_members(kind)),
        TypeKind::Integer(_, range) => Some(format_intervals(range, 0)),
        TypeKind::Decimal64(digits, range) => Some(format_intervals(range, *digits)),
        TypeKind::String(_, patterns) => patterns
            .first()
            .filter(|pattern| pattern.regex.source().len() <= PATTERN_BYTES_MAX)
            .map(|pattern| format!("pattern {}", pattern.regex.source())),
        kind => allowed_names(kind),
    };
    match restriction.filter(|text| !text.is_empty()) {
        Some(restriction) => format!("{name} ({restriction})"),
        None => name.to_string(),
    }
}

fn truncated(text: &str) -> String {
    match text.char_indices().nth(TEXT_IN_MESSAGE_MAX) {
        Some((end, _)) => format!("\"{}...\"", &text[..end]),
        None => format!("\"{text}\""),
    }
}

/// Formats intervals as in a `range` statement.
fn format_intervals(intervals: &Intervals, fraction_digits: u8) -> String {
    let number = |value: i128| match i64::try_from(value) {
        Ok(scaled) if fraction_digits > 0 => {
            crate::value::Value::Decimal64(scaled, fraction_digits).to_string()
        }
        _ => value.to_string(),
    };
    let parts = intervals.parts.iter().map(|part| {
        if part.min == part.max {
            number(part.min)
        } else {
            format!("{}..{}", number(part.min), number(part.max))
        }
    });
    parts.collect::<Vec<_>>().join(" | ")
}
