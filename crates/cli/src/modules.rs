//! Finds YANG modules in files, in folders and among the built-in modules.

use std::fs;
use std::path::{Path, PathBuf};

use espalier_yang::schema::{Features, ModuleSource, SchemaSource};
use espalier_yang::standard;

use crate::settings::Settings;
use espalier_terminal::{Failure, Result};

/// The maximum depth of nested folders.
const FOLDER_DEPTH_MAX: usize = 16;

/// Returns the modules named by the settings, or `None` if they name none.
pub fn source(settings: &Settings) -> Result<Option<SchemaSource>> {
    if settings.yang.is_empty() {
        return Ok(None);
    }
    let mut modules = Vec::new();
    for location in &settings.yang {
        find(location, &mut modules)?;
    }
    // The same file may be named twice: once in its folder, once by itself.
    modules.sort_by(|a, b| (&a.name, &a.revision).cmp(&(&b.name, &b.revision)));
    modules.dedup();
    for name in &settings.implement {
        if !modules.iter().any(|module| &module.name == name) {
            return Err(
                Failure::usage(format!("--implement {name}: no such module"))
                    .hint("name a module that --yang gives"),
            );
        }
    }
    let source = SchemaSource {
        modules,
        implement: settings.implement.clone(),
        features: settings
            .features
            .iter()
            .map(|text| features(text))
            .collect::<Result<_>>()?,
    };
    Ok(Some(source.without_unused()))
}

/// `module:a,b`.
fn features(text: &str) -> Result<(String, Features)> {
    let (module, names) = text.split_once(':').ok_or_else(|| {
        Failure::usage(format!("--features {text}: write MODULE:FEATURE,FEATURE"))
    })?;
    let names = names.split(',').filter(|name| !name.is_empty());
    let names = names.map(str::to_owned).collect();
    Ok((module.to_owned(), Features::Only(names)))
}

fn find(location: &str, modules: &mut Vec<ModuleSource>) -> Result<()> {
    let path = Path::new(location);
    if path.is_dir() {
        let before = modules.len();
        find_below(path, 0, modules)?;
        if modules.len() == before {
            return Err(Failure::usage("there is no .yang file in the folder").in_file(location));
        }
        return Ok(());
    }
    if path.is_file() {
        modules.push(read(path)?);
        return Ok(());
    }
    let (name, revision) = match location.split_once('@') {
        Some((name, revision)) => (name, Some(revision)),
        None => (location, None),
    };
    let built_in = standard::module(name, revision).ok_or_else(|| {
        Failure::usage(format!(
            "--yang {location}: no such file, folder or built-in module"
        ))
        .hint("`espalier schema --built-in` lists the modules that are built in")
    })?;
    modules.push(ModuleSource {
        name: built_in.name.into(),
        revision: Some(built_in.revision.into()),
        text: built_in.text.into(),
    });
    Ok(())
}

fn find_below(folder: &Path, depth: usize, modules: &mut Vec<ModuleSource>) -> Result<()> {
    let failed =
        |error| Failure::usage(format!("cannot be read: {error}")).in_file(folder.display());
    let mut paths = Vec::<PathBuf>::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    for path in paths {
        if path.is_dir() && depth < FOLDER_DEPTH_MAX {
            find_below(&path, depth + 1, modules)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "yang")
        {
            modules.push(read(&path)?);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<ModuleSource> {
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("the module cannot be read: {error}")).in_file(path.display())
    })?;
    let (name, revision) = name_and_revision(&text).ok_or_else(|| {
        Failure::usage("the file does not begin with `module NAME {` or `submodule NAME {`")
            .in_file(path.display())
            .hint("Espalier reads YANG, not YIN")
    })?;
    Ok(ModuleSource {
        name,
        revision,
        text,
    })
}

/// Returns the name and the latest revision of a module or submodule. Reads tokens only; the compiler validates the
/// text.
fn name_and_revision(text: &str) -> Option<(String, Option<String>)> {
    let mut tokens = Tokens { rest: text };
    let keyword = tokens.next()?;
    if keyword.text != "module" && keyword.text != "submodule" {
        return None;
    }
    let name = tokens
        .next()
        .filter(|token| token.is_argument())?
        .text
        .to_owned();
    let (mut depth, mut at_start) = (0_usize, false);
    let mut revision: Option<&str> = None;
    while let Some(token) = tokens.next() {
        match token.text {
            "{" if token.is_bare => depth += 1,
            "}" if token.is_bare => depth = depth.saturating_sub(1),
            "revision" if depth == 1 && at_start => {
                let date = tokens.next()?.text;
                revision = revision.max(Some(date));
            }
            _ => {}
        }
        at_start = token.is_bare && ["{", "}", ";"].contains(&token.text);
    }
    Some((name, revision.map(str::to_owned)))
}

/// A token of YANG (RFC 7950 §6.1).
struct Token<'a> {
    text: &'a str,
    is_bare: bool,
}

impl Token<'_> {
    fn is_argument(&self) -> bool {
        !self.is_bare || !["{", "}", ";"].contains(&self.text)
    }
}

/// The tokens of a YANG text, without comments.
struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    fn skip_space_and_comments(&mut self) {
        loop {
            self.rest = self
                .rest
                .trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
            if self.rest.starts_with("//") {
                self.rest = self.rest.split_once('\n').map_or("", |(_, after)| after);
            } else if self.rest.starts_with("/*") {
                self.rest = self.rest.split_once("*/").map_or("", |(_, after)| after);
            } else {
                return;
            }
        }
    }

    fn quoted(&mut self, quote: char) -> &'a str {
        let body = &self.rest[1..];
        let mut escaped = false;
        let end = body.find(|c| {
            let ends = c == quote && !escaped;
            escaped = quote == '"' && c == '\\' && !escaped;
            ends
        });
        let end = end.unwrap_or(body.len());
        self.rest = body.get(end + 1..).unwrap_or("");
        &body[..end]
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.skip_space_and_comments();
        let first = self.rest.chars().next()?;
        if first == '"' || first == '\'' {
            let text = self.quoted(first);
            return Some(Token {
                text,
                is_bare: false,
            });
        }
        let length = match first {
            '{' | '}' | ';' => 1,
            _ => self
                .rest
                .find([' ', '\t', '\r', '\n', '{', '}', ';', '"', '\''])
                .unwrap_or(self.rest.len()),
        };
        let (text, rest) = self.rest.split_at(length);
        self.rest = rest;
        Some(Token {
            text,
            is_bare: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_revision_are_read_from_the_text() {
        let text = "// revision 2030-01-01;\n/* module x { */ module \"a-b\" {\n\
            description \"a revision \\\" 2029-01-01 { \";\n\
            import c { prefix c; revision-date 2028-01-01; }\n\
            leaf revision { type string; }\n\
            revision 2020-02-03 { description 'first'; }\n  revision \"2021-02-03\";\n}";
        assert_eq!(
            name_and_revision(text),
            Some(("a-b".into(), Some("2021-02-03".into())))
        );
        assert_eq!(name_and_revision("submodule s{}"), Some(("s".into(), None)));
        for text in ["", "<module/>", "module {", "module"] {
            assert_eq!(name_and_revision(text), None, "{text}");
        }
    }

    #[test]
    fn features_are_read() {
        let (module, Features::Only(names)) = features("m:a,b").expect("features") else {
            panic!("not all of them");
        };
        assert_eq!(
            (module.as_str(), names),
            ("m", vec!["a".into(), "b".into()])
        );
        assert!(features("m").is_err());
    }
}
