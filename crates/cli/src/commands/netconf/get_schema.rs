//! `get-schema`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use espalier_terminal::output::{self, Form};
use espalier_terminal::output_file::{self, Existing, OutputFile};
use espalier_terminal::{Failure, Result};
use serde_json::json;

use super::context::Context;
use super::output::check_file;
use super::server_modules::{ServerModule, fetch, list};

/// Print a module of the server, or write all of them into a folder (RFC 6022 §3.1)
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier netconf maria@router.example get-schema ietf-interfaces
  espalier netconf maria@router.example get-schema ietf-interfaces --version 2018-02-20 --out a.yang
  espalier netconf maria@router.example get-schema --all modules")]
pub struct GetSchema {
    /// The module or submodule
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    name: Option<String>,

    /// Its revision
    #[arg(long, value_name = "REVISION", conflicts_with = "all")]
    version: Option<String>,

    /// Write all modules and submodules into this folder, as NAME@REVISION.yang
    #[arg(long, value_name = "DIR")]
    all: Option<PathBuf>,

    /// Write to this file
    #[arg(long, value_name = "FILE", conflicts_with = "all")]
    out: Option<PathBuf>,

    /// Replace files that exist
    #[arg(long)]
    force: bool,
}

impl GetSchema {
    /// Checks that the file may be written.
    pub fn check(&self) -> Result<()> {
        match &self.out {
            Some(file) => check_file(file, Existing::of(self.force)),
            None => Ok(()),
        }
    }

    /// Does the operation.
    pub fn run(&self, context: &Context) -> Result<()> {
        if let Some(folder) = &self.all {
            return self.write_all(context, folder);
        }
        self.check()?;
        let module = ServerModule {
            name: self.name.clone().unwrap_or_default(),
            revision: self.version.clone(),
        };
        let text = fetch(context, &module)?;
        match &self.out {
            Some(file) => {
                write(file, &text)?;
                let value = json!({"file": file.display().to_string()});
                output::print_result(context.form.json, &value, "")
            }
            None if context.form.json => {
                let value = json!({"name": module.name, "text": text});
                output::print_result(true, &value, "")
            }
            None => Ok(writeln!(output::stdout(Form::Text), "{text}")?),
        }
    }

    fn write_all(&self, context: &Context, folder: &Path) -> Result<()> {
        let modules = list(context)?;
        let mut files = Vec::new();
        for module in &modules {
            let name = file_name(module)?;
            let file = folder.join(&name);
            output_file::check(&file, Existing::of(self.force), None)?;
            write(&file, &fetch(context, module)?)?;
            files.push(name);
        }
        let text = format!("{} modules in {}", files.len(), folder.display());
        let value = json!({"folder": folder.display().to_string(), "files": files});
        output::print_result(context.form.json, &value, &text)
    }
}

fn write(file: &Path, text: &str) -> Result<()> {
    let mut out = OutputFile::create(file)?;
    writeln!(out.writer(), "{text}")?;
    out.finish()
}

/// The name of the file of a module (RFC 7950 §5.2). The server gives the parts.
fn file_name(module: &ServerModule) -> Result<String> {
    let is_safe = |text: &str| {
        let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        !text.is_empty() && !text.starts_with('.') && text.chars().all(is_of_name)
    };
    let name = match &module.revision {
        Some(revision) if is_safe(revision) => format!("{}@{revision}.yang", module.name),
        _ => format!("{}.yang", module.name),
    };
    match is_safe(&module.name) {
        true => Ok(name),
        false => Err(Failure::data(format!(
            "the server has a module with the name “{}”, which is no identifier",
            module.name
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_server_do_not_leave_the_folder() {
        let module = |name: &str, revision: Option<&str>| ServerModule {
            name: name.to_owned(),
            revision: revision.map(str::to_owned),
        };
        for (name, revision, expected) in [
            ("a-b", Some("2020-01-01"), "a-b@2020-01-01.yang"),
            ("a", None, "a.yang"),
            ("a", Some("../x"), "a.yang"),
        ] {
            assert_eq!(file_name(&module(name, revision)).expect(name), expected);
        }
        for name in ["../a", "", ".a", "a/b"] {
            assert!(file_name(&module(name, None)).is_err(), "{name}");
        }
    }
}
