//! Characters, escapes and character classes (XML Schema part 2, F.1).
//!
//! The output is valid both on its own and inside a class of the engine, whose classes nest.

use std::fmt::Write;

use super::PatternError;
use super::block::ranges;
use super::translate::Translator;

/// The general categories of XSD (F.1.1); surrogates are not characters.
const CATEGORIES: &[&str] = &[
    "L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "Pc",
    "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Z", "Zs", "Zl", "Zp", "S", "Sm", "Sc", "Sk", "So", "C",
    "Cc", "Cf", "Co", "Cn",
];

/// `NameStartChar` of XML 1.0, fifth edition.
const NAME_START: &str = r":A-Z_a-z\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{2FF}\x{370}-\x{37D}\x{37F}-\x{1FFF}\x{200C}-\x{200D}\x{2070}-\x{218F}\x{2C00}-\x{2FEF}\x{3001}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFFD}\x{10000}-\x{EFFFF}";

/// The additional characters of `NameChar`.
const NAME_MORE: &str = r"\-.0-9\x{B7}\x{300}-\x{36F}\x{203F}-\x{2040}";

/// The meaning of an escape.
enum Escape {
    Char(char),
    /// A set, in the engine's syntax.
    Set(String),
}

/// Writes one literal character.
pub(super) fn push_char(out: &mut String, c: char) {
    if c.is_ascii_alphanumeric() || !c.is_ascii() {
        out.push(c);
    } else {
        // Writing to a string cannot fail.
        let _ = write!(out, "\\x{:02X}", u32::from(c));
    }
}

/// Translates an escape, after its backslash.
pub(super) fn push_escape(input: &mut Translator<'_>) -> Result<(), PatternError> {
    match escape(input)? {
        Escape::Char(c) => push_char(&mut input.out, c),
        Escape::Set(set) => input.out.push_str(&set),
    }
    Ok(())
}

/// Translates a class, after its opening bracket: its characters, minus a second class if there is a subtraction.
pub(super) fn push_class(input: &mut Translator<'_>) -> Result<(), PatternError> {
    input.descend()?;
    let start = input.out.len();
    let opening = if input.eat('^') { "[^" } else { "[" };
    input.out.push_str(opening);
    let mut is_empty = true;
    loop {
        match (input.peek(), input.peek_second()) {
            (None, _) => return Err(input.error("the class is never closed")),
            (Some(']'), _) if is_empty => return Err(input.error("the class is empty")),
            (Some(']'), _) => break,
            (Some('-'), Some('[')) if !is_empty => {
                subtraction(input, start)?;
                break;
            }
            _ => member(input)?,
        }
        is_empty = false;
    }
    if !input.eat(']') {
        return Err(input.error("expected ']' after the class that is subtracted"));
    }
    input.out.push(']');
    input.ascend();
    Ok(())
}

/// Makes the output since `start` the left side of a difference and writes the right side.
fn subtraction(input: &mut Translator<'_>, start: usize) -> Result<(), PatternError> {
    input.next();
    input.next();
    input.out.insert(start, '[');
    input.out.push_str("]--");
    push_class(input)
}

/// Translates one character, range or set of a class.
fn member(input: &mut Translator<'_>) -> Result<(), PatternError> {
    let first = match character(input)? {
        Escape::Char(c) => c,
        Escape::Set(set) => {
            input.out.push_str(&set);
            return Ok(());
        }
    };
    push_char(&mut input.out, first);
    let is_range = input.peek() == Some('-') && !matches!(input.peek_second(), Some(']' | '['));
    if !is_range {
        return Ok(());
    }
    input.next();
    if input.peek().is_none() {
        return Err(input.error("the class is never closed"));
    }
    match character(input)? {
        Escape::Char(last) if last >= first => {
            input.out.push('-');
            push_char(&mut input.out, last);
            Ok(())
        }
        Escape::Char(last) => {
            Err(input.error_here(format!("the range from '{first}' to '{last}' is backwards")))
        }
        Escape::Set(_) => Err(input.error_here("a range cannot end in a set of characters")),
    }
}

fn character(input: &mut Translator<'_>) -> Result<Escape, PatternError> {
    match input.next() {
        Some('\\') => escape(input),
        Some(c) => Ok(Escape::Char(c)),
        None => Err(input.error("the class is never closed")),
    }
}

fn escape(input: &mut Translator<'_>) -> Result<Escape, PatternError> {
    let Some(c) = input.next() else {
        return Err(input.error("nothing after the backslash"));
    };
    let set = match c {
        'n' => return Ok(Escape::Char('\n')),
        'r' => return Ok(Escape::Char('\r')),
        't' => return Ok(Escape::Char('\t')),
        's' => r"[ \t\n\r]".to_owned(),
        'S' => r"[^ \t\n\r]".to_owned(),
        'd' => r"\p{Nd}".to_owned(),
        'D' => r"\P{Nd}".to_owned(),
        'w' => r"[^\p{P}\p{Z}\p{C}]".to_owned(),
        'W' => r"[\p{P}\p{Z}\p{C}]".to_owned(),
        'i' => format!("[{NAME_START}]"),
        'I' => format!("[^{NAME_START}]"),
        'c' => format!("[{NAME_START}{NAME_MORE}]"),
        'C' => format!("[^{NAME_START}{NAME_MORE}]"),
        'p' | 'P' => property(input, c)?,
        '0'..='9' => return Err(input.error_here("back-references do not exist in XSD")),
        c if c.is_ascii_punctuation() || c == ' ' => return Ok(Escape::Char(c)),
        c => return Err(input.error_here(format!("'\\{c}' does not exist in XSD"))),
    };
    Ok(Escape::Set(set))
}

/// `\p{..}` and `\P{..}`: a general category, or `Is` and a block.
fn property(input: &mut Translator<'_>, letter: char) -> Result<String, PatternError> {
    if !input.eat('{') {
        return Err(input.error(format!("expected '{{' after '\\{letter}'")));
    }
    let mut name = String::new();
    loop {
        match input.next() {
            Some('}') => break,
            Some(c) if c.is_ascii_alphanumeric() || c == '-' => name.push(c),
            _ => return Err(input.error_here("expected '}' after the name of a property")),
        }
    }
    if CATEGORIES.contains(&name.as_str()) {
        return Ok(format!("\\{letter}{{{name}}}"));
    }
    let ranges = name.strip_prefix("Is").map(ranges).unwrap_or_default();
    if ranges.is_empty() {
        let reason = format!("'{name}' is neither a general category nor a block");
        return Err(input.error_here(reason));
    }
    let mut set = String::from(if letter == 'P' { "[^" } else { "[" });
    for (first, last) in ranges {
        let _ = write!(set, "\\x{{{first:X}}}-\\x{{{last:X}}}");
    }
    set.push(']');
    Ok(set)
}
