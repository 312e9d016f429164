//! The arguments of statements in published models: those in the sources of `libyang5-sys`, and
//! those under `ESPALIER_MODELS`, where that is set.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A statement's argument and the file that it is in.
pub struct Argument {
    /// The file's name.
    pub file: String,
    /// The argument, quotes and escapes removed.
    pub text: String,
}

/// The argument of every statement with this keyword.
pub fn arguments(keyword: &str) -> Vec<Argument> {
    let mut found = Vec::new();
    for path in models() {
        let file = path.file_name().unwrap_or_default();
        let file = file.to_string_lossy().into_owned();
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let tokens = tokens(&text);
        for (index, token) in tokens.iter().enumerate() {
            if *token == Token::Bare(keyword.to_owned()) && starts_statement(&tokens, index) {
                if let Some(text) = argument(&tokens[index + 1..]) {
                    let file = file.clone();
                    found.push(Argument { file, text });
                }
            }
        }
    }
    found
}

fn models() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for directory in ["modules", "examples", "tests/modules/yang"] {
        collect(&libyang_sources().join(directory), &mut files);
    }
    if let Ok(more) = std::env::var("ESPALIER_MODELS") {
        collect(Path::new(&more), &mut files);
    }
    files
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "yang")
        {
            files.push(path);
        }
    }
}

/// Where cargo keeps the sources of libyang.
fn libyang_sources() -> PathBuf {
    // Only this platform's dependencies are sure to be on this machine.
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline"])
        .args(["--filter-platform", &host()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let package = packages.iter().find(|p| p["name"] == "libyang5-sys");
    let manifest = package.expect("libyang5-sys")["manifest_path"].as_str();
    let root = Path::new(manifest.expect("a path")).parent();
    root.expect("a directory").join("libyang")
}

fn host() -> String {
    let output = Command::new("rustc")
        .arg("-vV")
        .output()
        .expect("rustc runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.expect("a host").to_owned()
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
