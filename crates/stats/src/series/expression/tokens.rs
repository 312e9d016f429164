//! The tokenizer of expressions.

use crate::{Error, Number, Result};

/// A token and its position.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) at: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    Number(Number),
    Word(String),
    Sign(char),
}

/// The tokens of `text`, in order.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let at = text.len() - rest.len();
        let length = match letter {
            '0'..='9' | '.' => number_length(rest),
            'a'..='z' | 'A'..='Z' => rest
                .find(|letter: char| !letter.is_ascii_alphabetic())
                .unwrap_or(rest.len()),
            _ => letter.len_utf8(),
        };
        let (word, after) = rest.split_at(length);
        rest = after;
        let kind = match letter {
            '0'..='9' | '.' => {
                TokenKind::Number(word.parse().map_err(|error: Error| error.at(place(at)))?)
            }
            'a'..='z' | 'A'..='Z' => TokenKind::Word(word.to_owned()),
            '+' | '-' | '*' | '/' | '(' | ')' | ',' => TokenKind::Sign(letter),
            _ if letter.is_whitespace() => continue,
            _ => return Err(Error::syntax(format!("unexpected {letter:?}")).at(place(at))),
        };
        tokens.push(Token { kind, at });
    }
    Ok(tokens)
}

/// Formats a position for error messages.
pub(super) fn place(at: usize) -> String {
    format!("column {}", at + 1)
}

/// The length of the number at the front: digits, a point, an exponent.
fn number_length(text: &str) -> usize {
    let digits = |text: &str| {
        text.bytes()
            .take_while(|b| b.is_ascii_digit() || *b == b'.')
            .count()
    };
    let length = digits(text);
    let exponent = &text[length..];
    let Some(power) = exponent.strip_prefix(['e', 'E']) else {
        return length;
    };
    let sign = usize::from(power.starts_with(['+', '-']));
    match digits(&power[sign..]) {
        0 => length,
        power => length + 1 + sign + power,
    }
}
