//! The arguments of statements in published models: the built-in standard modules, and those in the folder
//! `ESPALIER_MODELS`, if that is set.

use std::path::Path;

/// A statement's argument and its file.
pub struct Argument {
    /// The file's name.
    pub file: String,
    /// The argument, quotes and escapes removed.
    pub text: String,
}

/// The argument of every statement with this keyword.
pub fn arguments(keyword: &str) -> Vec<Argument> {
    let mut found = Vec::new();
    for (file, text) in models() {
        let tokens = tokens(&text);
        for (index, token) in tokens.iter().enumerate() {
            let is_keyword = *token == Token::Bare(keyword.to_owned());
            if is_keyword
                && starts_statement(&tokens, index)
                && let Some(text) = argument(&tokens[index + 1..])
            {
                let file = file.clone();
                found.push(Argument { file, text });
            }
        }
    }
    found
}

/// Names and texts.
fn models() -> Vec<(String, String)> {
    let standard = espalier_yang::standard::modules().iter();
    let mut files: Vec<_> = standard
        .map(|module| (module.name.to_owned(), module.text.to_owned()))
        .collect();
    if let Ok(more) = std::env::var("ESPALIER_MODELS") {
        collect(Path::new(&more), &mut files);
    }
    files
}

fn collect(directory: &Path, files: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "yang")
        {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            files.push((path.display().to_string(), text));
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Bare(String),
    Quoted(String),
    /// `;`, `{`, `}` or `+`.
    Mark(char),
}

fn starts_statement(tokens: &[Token], index: usize) -> bool {
    index == 0 || matches!(tokens[index - 1], Token::Mark(';' | '{' | '}'))
}

fn argument(tokens: &[Token]) -> Option<String> {
    let mut text = match tokens.first()? {
        Token::Bare(text) => return Some(text.clone()),
        Token::Quoted(text) => text.clone(),
        Token::Mark(_) => return None,
    };
    let mut rest = &tokens[1..];
    while let [Token::Mark('+'), Token::Quoted(more), ..] = rest {
        text.push_str(more);
        rest = &rest[2..];
    }
    Some(text)
}

/// RFC 7950 §6.1.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else {
            return tokens;
        };
        if rest.starts_with("//") {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
        } else if rest.starts_with("/*") {
            rest = rest.split_once("*/").map_or("", |(_, after)| after);
        } else if matches!(first, ';' | '{' | '}' | '+') {
            tokens.push(Token::Mark(first));
            rest = &rest[1..];
        } else if first == '\'' {
            let (quoted, after) = rest[1..].split_once('\'').unwrap_or((&rest[1..], ""));
            tokens.push(Token::Quoted(quoted.to_owned()));
            rest = after;
        } else if first == '"' {
            let (quoted, after) = double_quoted(&rest[1..]);
            tokens.push(Token::Quoted(quoted));
            rest = after;
        } else {
            let end = rest.find(|c: char| c.is_whitespace() || ";{}\"'".contains(c));
            let (bare, after) = rest.split_at(end.unwrap_or(rest.len()));
            tokens.push(Token::Bare(bare.to_owned()));
            rest = after;
        }
    }
}

fn double_quoted(text: &str) -> (String, &str) {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (out, &text[at + 1..]),
            '\\' => match chars.next() {
                Some((_, 'n')) => out.push('\n'),
                Some((_, 't')) => out.push('\t'),
                Some((_, c @ ('"' | '\\'))) => out.push(c),
                Some((_, c)) => out.extend(['\\', c]),
                None => {}
            },
            c => out.push(c),
        }
    }
    (out, "")
}
