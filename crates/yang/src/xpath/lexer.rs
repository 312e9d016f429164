//! Tokens, disambiguated by XPath 1.0 §3.7.

use super::XPathError;

/// A token. Names are classified as operators, functions or axes here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// One of `( ) [ ] . .. @ , :: / // | + - = != < <= > >= $`.
    Mark(&'static str),
    /// `*` as an operator, `and`, `or`, `mod`, `div`.
    Operator(&'static str),
    /// A name before `(`.
    Function(&'a str),
    /// A name before `::`.
    AxisName(&'a str),
    /// A name test or variable name: prefix and local part, which may be `*`.
    Name(Option<&'a str>, &'a str),
    /// The content of a literal.
    Literal(&'a str),
    /// A number as written.
    Number(&'a str),
}

/// A token and its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spanned<'a> {
    pub(super) token: Token<'a>,
    /// The source text.
    pub(super) text: &'a str,
    /// The position in bytes from 0.
    pub(super) offset: usize,
}

/// Longer marks first, because the first match is taken.
const MARKS: [&str; 20] = [
    "::", "//", "..", "!=", "<=", ">=", "(", ")", "[", "]", ".", "@", ",", "/", "|", "+", "-", "=",
    "<", ">",
];

const NAMED_OPERATORS: [&str; 4] = ["and", "or", "mod", "div"];

/// The column, from 1, of a byte offset.
pub(super) fn column(text: &str, offset: usize) -> usize {
    text[..offset].chars().count() + 1
}

/// The tokens of an expression.
pub(super) fn tokens(text: &str) -> Result<Vec<Spanned<'_>>, XPathError> {
    let mut tokens: Vec<Spanned<'_>> = Vec::new();
    let mut offset = 0;
    loop {
        offset += leading_space(&text[offset..]);
        let rest = &text[offset..];
        if rest.is_empty() {
            return Ok(tokens);
        }
        let previous = tokens.last().map(|spanned| spanned.token);
        let (token, length) = token(rest, previous).map_err(|expected| {
            let found: String = rest.chars().take(1).collect();
            XPathError::new(column(text, offset), found, expected)
        })?;
        tokens.push(Spanned {
            token,
            text: &rest[..length],
            offset,
        });
        offset += length;
    }
}

/// `ExprWhitespace`: XML's, not Unicode's.
fn leading_space(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t', '\n', '\r']).len()
}

/// The first token of `rest` and its length.
fn token<'a>(
    rest: &'a str,
    previous: Option<Token<'_>>,
) -> Result<(Token<'a>, usize), &'static str> {
    let mut chars = rest.chars();
    let first = chars.next().unwrap_or_default();
    let second = chars.next().unwrap_or_default();
    match first {
        '\'' | '"' => literal(rest, first),
        '0'..='9' => Ok(number(rest)),
        '.' if second.is_ascii_digit() => Ok(number(rest)),
        '*' if after_operand(previous) => Ok((Token::Operator("*"), 1)),
        '*' => Ok((Token::Name(None, "*"), 1)),
        '$' => Ok((Token::Mark("$"), 1)),
        c if is_name_start(c) => Ok(name(rest, previous)),
        _ => {
            let mark = MARKS.iter().find(|mark| rest.starts_with(**mark));
            let mark = mark.ok_or("a token of XPath")?;
            Ok((Token::Mark(mark), mark.len()))
        }
    }
}

/// XPath 1.0 §3.7: after these, `*` and names that could be operators are operators.
fn after_operand(previous: Option<Token<'_>>) -> bool {
    match previous {
        None | Some(Token::Operator(_)) => false,
        Some(Token::Mark(mark)) => matches!(mark, ")" | "]" | "." | ".."),
        Some(_) => true,
    }
}

fn literal(rest: &str, quote: char) -> Result<(Token<'_>, usize), &'static str> {
    let inside = &rest[1..];
    let end = inside
        .find(quote)
        .ok_or("a literal that ends with the quote it begins with")?;
    Ok((Token::Literal(&inside[..end]), end + 2))
}

/// `Digits ('.' Digits?)? | '.' Digits`.
fn number(rest: &str) -> (Token<'_>, usize) {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(rest);
    if rest[length..].starts_with('.') {
        length += 1;
        length += digits(&rest[length..]);
    }
    (Token::Number(&rest[..length]), length)
}

fn name<'a>(rest: &'a str, previous: Option<Token<'_>>) -> (Token<'a>, usize) {
    let first = ncname(rest);
    let after = &rest[first.len()..];
    if after_operand(previous)
        && let Some(operator) = NAMED_OPERATORS.iter().find(|known| **known == first)
    {
        return (Token::Operator(operator), first.len());
    }
    let (token, length) = qualified(first, after);
    let follower = &rest[length..];
    let follower = &follower[leading_space(follower)..];
    match token {
        Token::Name(None, first) if follower.starts_with("::") => (Token::AxisName(first), length),
        Token::Name(None, first) if follower.starts_with('(') => (Token::Function(first), length),
        token => (token, length),
    }
}

/// A name, or a prefix with the part after its colon.
fn qualified<'a>(first: &'a str, after: &'a str) -> (Token<'a>, usize) {
    if !after.starts_with("::")
        && let Some(local) = after.strip_prefix(':')
    {
        if local.starts_with('*') {
            return (Token::Name(Some(first), "*"), first.len() + 2);
        }
        let local = ncname(local);
        if !local.is_empty() {
            let length = first.len() + 1 + local.len();
            return (Token::Name(Some(first), local), length);
        }
    }
    (Token::Name(None, first), first.len())
}

/// The longest name at the start of `text`.
fn ncname(text: &str) -> &str {
    if !text.starts_with(is_name_start) {
        return "";
    }
    let end = text.find(|c: char| !is_name_char(c));
    &text[..end.unwrap_or(text.len())]
}

/// `NameStartChar` of XML 1.0, fifth edition, without the colon.
fn is_name_start(c: char) -> bool {
    matches!(c,
        'A'..='Z' | '_' | 'a'..='z' | '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}'
        | '\u{F8}'..='\u{2FF}' | '\u{370}'..='\u{37D}' | '\u{37F}'..='\u{1FFF}'
        | '\u{200C}'..='\u{200D}' | '\u{2070}'..='\u{218F}' | '\u{2C00}'..='\u{2FEF}'
        | '\u{3001}'..='\u{D7FF}' | '\u{F900}'..='\u{FDCF}' | '\u{FDF0}'..='\u{FFFD}'
        | '\u{10000}'..='\u{EFFFF}')
}

fn is_name_char(c: char) -> bool {
    is_name_start(c)
        || matches!(c, '-' | '.' | '0'..='9' | '\u{B7}' | '\u{300}'..='\u{36F}'
            | '\u{203F}'..='\u{2040}')
}
