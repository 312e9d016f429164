//! Replaces the prefixes of an expression that is data: a leaf of type `xpath1.0` or `node-instance-identifier`. XML
//! has prefixes of the document (RFC 7950 §6.4.1); the canonical form, as in JSON, has module names, omitted if the
//! preceding name has the same module (as in RFC 7951 §6.11 for paths and in libyang for all expressions).
//!
//! Everything except names is kept as written. A literal that is a name with a known prefix is an identity, and is
//! replaced too.

use super::XPathError;
use super::lexer::{Spanned, Token, tokens};

/// Converts an expression with prefixes to the canonical form; `module_of` returns the module of a prefix. A prefix
/// without a module is an error.
pub(crate) fn with_modules(
    text: &str,
    module_of: &dyn Fn(&str) -> Option<Box<str>>,
) -> Result<String, XPathError> {
    rewrite(text, &mut |written, above| match written {
        NamePart::Name(None) => Ok((None, above)),
        NamePart::Name(Some(prefix)) => {
            let module = module_of(prefix).ok_or("a prefix that is declared")?;
            let is_same = above.as_ref() == Some(&module);
            let shown = (!is_same).then(|| module.clone());
            Ok((shown, Some(module)))
        }
        NamePart::Literal(prefix) => Ok((module_of(prefix), above)),
    })
}

/// Where the name of a module is in an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the name of a node.
    Node,
    /// In a literal that looks like a name.
    Literal,
}

/// Converts an expression in canonical form to one with prefixes; `prefix_of` returns the prefix of a module, or
/// `None` if there is no such module.
pub(crate) fn with_prefixes(
    text: &str,
    prefix_of: &mut dyn FnMut(&str, Place) -> Option<Box<str>>,
) -> Result<String, XPathError> {
    rewrite(text, &mut |written, above| match written {
        NamePart::Name(None) => {
            let prefix = above.as_deref();
            let prefix = prefix.and_then(|module| prefix_of(module, Place::Node));
            Ok((prefix, above))
        }
        NamePart::Name(Some(module)) => {
            let prefix = prefix_of(module, Place::Node).ok_or("the name of a module")?;
            Ok((Some(prefix), Some(module.into())))
        }
        NamePart::Literal(module) => Ok((prefix_of(module, Place::Literal), above)),
    })
}

/// A part of the expression that may be replaced.
enum NamePart<'a> {
    /// A name test, with its prefix if it has one.
    Name(Option<&'a str>),
    /// The prefix of a literal that looks like a name.
    Literal(&'a str),
}

type Module = Option<Box<str>>;

/// Maps a part and the module of the preceding name to the prefix to write (`None` to write a name without prefix, or
/// to keep a literal), and to the module for the next name.
type Replace<'a> = dyn FnMut(NamePart<'_>, Module) -> Result<(Module, Module), &'static str> + 'a;

fn rewrite(text: &str, replace: &mut Replace<'_>) -> Result<String, XPathError> {
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    let mut module: Module = None;
    // The module at each open bracket: names inside and after the brackets start with it.
    let mut open: Vec<Module> = Vec::new();
    for spanned in tokens(text)? {
        out.push_str(&text[end..spanned.offset]);
        end = spanned.offset + spanned.text.len();
        let written = match spanned.token {
            Token::Name(_, "*") if !spanned.text.contains(':') => None,
            Token::Name(prefix, local) => Some((NamePart::Name(prefix), local)),
            Token::Literal(inside) => {
                literal(inside).map(|(prefix, local)| (NamePart::Literal(prefix), local))
            }
            token => {
                follow(token, &mut module, &mut open);
                None
            }
        };
        let Some((written, local)) = written else {
            out.push_str(spanned.text);
            continue;
        };
        let is_literal = matches!(written, NamePart::Literal(_));
        let (prefix, next) = replace(written, module.take())
            .map_err(|expected| XPathError::new(column(text, &spanned), spanned.text, expected))?;
        module = next;
        push(&mut out, &spanned, prefix.as_deref(), local, is_literal);
    }
    out.push_str(&text[end..]);
    Ok(out)
}

fn push(out: &mut String, spanned: &Spanned<'_>, prefix: Option<&str>, local: &str, literal: bool) {
    let name = match prefix {
        Some(prefix) => format!("{prefix}:{local}"),
        None if literal => return out.push_str(spanned.text),
        None => local.to_owned(),
    };
    let quote = if literal { &spanned.text[..1] } else { "" };
    out.push_str(quote);
    out.push_str(&name);
    out.push_str(quote);
}

/// Updates the module for the next name after a token.
fn follow(token: Token<'_>, module: &mut Module, open: &mut Vec<Module>) {
    match token {
        Token::Mark("[" | "(") => open.push(module.clone()),
        Token::Mark("]" | ")") => *module = open.pop().flatten(),
        Token::Mark("|" | "+" | "-") | Token::Operator(_) => {
            *module = open.last().cloned().flatten();
        }
        _ => {}
    }
}

/// Prefix and name of a literal that has this form.
fn literal(inside: &str) -> Option<(&str, &str)> {
    let (prefix, local) = inside.split_once(':')?;
    let is_name = |text: &str| {
        let mut characters = text.chars();
        characters
            .next()
            .is_some_and(|first| first.is_alphabetic() || first == '_')
            && characters.all(|next| next.is_alphanumeric() || "_-.".contains(next))
    };
    (is_name(prefix) && is_name(local)).then_some((prefix, local))
}

fn column(text: &str, spanned: &Spanned<'_>) -> usize {
    super::lexer::column(text, spanned.offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module_of(prefix: &str) -> Option<Box<str>> {
        let known = [("if", "interfaces"), ("ip", "addresses")];
        known
            .iter()
            .find(|(known, _)| *known == prefix)
            .map(|(_, module)| (*module).into())
    }

    fn prefix_of(module: &str) -> Option<Box<str>> {
        let known = [("if", "interfaces"), ("ip", "addresses")];
        known
            .iter()
            .find(|(_, known)| *known == module)
            .map(|(prefix, _)| (*prefix).into())
    }

    #[test]
    fn expressions_are_converted_between_prefixes_and_modules() {
        let cases = [
            ("/if:a/if:b/ip:c/ip:d", "/interfaces:a/b/addresses:c/d"),
            ("/if:a[if:b = 'x:y']/if:c", "/interfaces:a[b = 'x:y']/c"),
            (
                "//ip:a[. = 'if:eth'] or /if:b",
                "//addresses:a[. = 'interfaces:eth'] or /interfaces:b",
            ),
            (
                "count(/if:a/ip:b) + 1",
                "count(/interfaces:a/addresses:b) + 1",
            ),
            ("/if:a/*/ip:*", "/interfaces:a/*/addresses:*"),
            ("/", "/"),
        ];
        for (prefixed, canonical) in cases {
            let found = with_modules(prefixed, &module_of).unwrap();
            assert_eq!(found, canonical);
            let back = with_prefixes(canonical, &mut |module, _| prefix_of(module)).unwrap();
            assert_eq!(back, prefixed);
        }
    }

    #[test]
    fn unknown_prefixes_are_errors_in_names_only() {
        assert!(with_modules("/x:a", &module_of).is_err());
        assert_eq!(with_modules("'x:a'", &module_of).unwrap(), "'x:a'");
        assert!(with_modules("/if:a[", &module_of).is_ok());
        assert!(with_modules("'", &module_of).is_err());
    }
}
