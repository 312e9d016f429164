//! The steps of a compilation.

use std::collections::BTreeSet;

use super::error::{SchemaError, SchemaErrors};
use super::failures::complete;
use super::ffi::{Context, Message};
use super::locate::{locate, locate_import};
use super::size::reject_too_large;
use super::texts::{SourceTexts, file_name, find};
use super::{expand_descendants, modules, mount, tree};
use crate::schema::statement::{STATEMENT_DEPTH_MAX, too_deep};
use crate::schema::{Features, Schema, SchemaSource};

/// The maximum number of compilation rounds in which further features become enabled.
const COMPILATIONS_MAX: usize = 8;

impl Schema {
    /// Compiles modules. Reports all errors that can be found, not only the first.
    ///
    /// Obsolete nodes are omitted, as in libyang and as RFC 7950 §7.21.2 recommends.
    pub fn compile(source: &SchemaSource) -> Result<Self, SchemaErrors> {
        mount::compile(source)
    }

    /// Compiles modules without what is mounted.
    pub(super) fn compile_modules(source: &SchemaSource) -> Result<Self, SchemaErrors> {
        reject_deep_nesting(source)?;
        let names = implemented_names(source);
        reject_too_large(source, &names)?;
        let texts = SourceTexts::new(source);
        let mut context = Context::new(&texts).ok_or_else(out_of_memory)?;
        let errors = fill(&mut context, &texts, source, &names);
        if !errors.is_empty() {
            drop(context);
            let errors = located(errors, source);
            return Err(SchemaErrors::new(complete(errors, source, &names)));
        }
        let mut schema = Self::default();
        let indexes = modules::copy(&context, &names, &mut schema)?;
        let mut schema = tree::copy(&context, texts.patterns(), indexes, schema)
            .map_err(|errors| SchemaErrors::new(located(errors.into_vec(), source)))?;
        expand_descendants::expand(&mut schema);
        Ok(schema)
    }
}

/// The first errors of a compilation of some modules; empty if it succeeds.
pub(super) fn errors_of(source: &SchemaSource, names: &[&str]) -> Vec<SchemaError> {
    let texts = SourceTexts::new(source);
    let found = match Context::new(&texts) {
        Some(mut context) => fill(&mut context, &texts, source, names),
        None => out_of_memory().into_vec(),
    };
    located(found, source)
}

/// Loads and compiles modules; returns the errors.
fn fill(
    context: &mut Context<'_>,
    texts: &SourceTexts<'_>,
    source: &SchemaSource,
    names: &[&str],
) -> Vec<SchemaError> {
    let errors = load_all(context, texts, source, names);
    if !errors.is_empty() {
        return errors;
    }
    let has_all = |name: &str| !matches!(source.features.get(name), Some(Features::Only(_)));
    for round in 0..COMPILATIONS_MAX {
        // A module that is implemented because others refer to it has its own features, on which others depend.
        let has_changed = context.enable_possible_features(&has_all).unwrap_or(true);
        if round > 0 && !has_changed {
            break;
        }
        let errors = compile_all(context);
        if !errors.is_empty() {
            return errors;
        }
    }
    Vec::new()
}

/// Rejects texts whose nesting is too deep for libyang.
fn reject_deep_nesting(source: &SchemaSource) -> Result<(), SchemaErrors> {
    let modules = source.modules.iter();
    let errors: Vec<SchemaError> = modules
        .filter_map(|module| {
            Some(SchemaError {
                module: file_name(&module.name, module.revision.as_deref()),
                line: too_deep(&module.text)?,
                path: String::new(),
                message: format!("Statements are nested deeper than {STATEMENT_DEPTH_MAX}."),
            })
        })
        .collect();
    if errors.is_empty() {
        Ok(())
    } else {
        Err(SchemaErrors::new(errors))
    }
}

/// The modules to implement.
pub(super) fn implemented_names(source: &SchemaSource) -> Vec<&str> {
    if !source.implement.is_empty() {
        return source.implement.iter().map(String::as_str).collect();
    }
    let modules = source.modules.iter();
    let names: BTreeSet<&str> = modules
        .filter(|module| !module.is_submodule())
        .map(|module| module.name.as_str())
        .collect();
    names.into_iter().collect()
}

fn features<'s>(source: &'s SchemaSource, module: &str) -> Vec<&'s str> {
    match source.features.get(module) {
        Some(Features::Only(names)) => names.iter().map(String::as_str).collect(),
        Some(Features::All) | None => vec!["*"],
    }
}

fn load_all(
    context: &mut Context<'_>,
    texts: &SourceTexts<'_>,
    source: &SchemaSource,
    names: &[&str],
) -> Vec<SchemaError> {
    let mut errors = Vec::new();
    for &name in names {
        let revision = find(source, name, None).and_then(|module| module.revision.as_deref());
        texts.take_requested();
        if context
            .load(name, revision, &features(source, name))
            .is_err()
        {
            errors.extend(load_errors(context, texts, name, revision));
        }
    }
    let drawn_in = source.features.keys().map(String::as_str);
    for name in drawn_in.filter(|name| !names.contains(name)) {
        if context.set_features(name, &features(source, name)).is_err() {
            errors.extend(load_errors(context, texts, name, None));
        }
    }
    errors
}

/// The errors of loading modules. libyang reads one text at a time and stops at the first error: the error is in the
/// last requested text.
fn load_errors(
    context: &mut Context<'_>,
    texts: &SourceTexts<'_>,
    name: &str,
    revision: Option<&str>,
) -> Vec<SchemaError> {
    let requested = texts.take_requested();
    let module = requested.last().cloned();
    let module = module.unwrap_or_else(|| file_name(name, revision));
    let mut messages = context.take_messages();
    // After the error, libyang reports each importing module as failed too.
    messages.truncate(1);
    if messages.is_empty() {
        messages.push(Message {
            text: format!("The module \"{name}\" cannot be loaded."),
            path: None,
            line: 0,
        });
    }
    let messages = messages.into_iter();
    messages
        .map(|message| {
            let mut error = SchemaError {
                module: module.clone(),
                line: message.line,
                path: message.path.unwrap_or_default(),
                message: message.text,
            };
            // libyang may look for newer revisions of loaded modules, so not every missing text is an error.
            let missing = texts.take_missing();
            if let Some((name, revision)) = missing.filter(|(name, _)| error.message.contains(name))
            {
                let file = file_name(&name, revision.as_deref());
                error.message = format!("There is no module \"{file}\".");
                locate_import(&mut error, &name, &requested, texts.source());
            }
            error
        })
        .collect()
}

fn compile_all(context: &mut Context<'_>) -> Vec<SchemaError> {
    if context.compile().is_ok() {
        context.take_messages();
        return Vec::new();
    }
    let mut messages = context.take_messages();
    if messages.is_empty() {
        messages.push(Message {
            text: "The modules cannot be compiled.".to_owned(),
            path: None,
            line: 0,
        });
    }
    let messages = messages.into_iter();
    messages
        .map(|message| {
            let path = message.path.unwrap_or_default();
            SchemaError {
                module: module_of_path(&path).to_owned(),
                line: message.line,
                path,
                message: message.text,
            }
        })
        .collect()
}

/// The module of a schema path such as `/module:container/leaf`.
fn module_of_path(path: &str) -> &str {
    let first = path.trim_start_matches('/');
    first.split_once(':').map_or("", |(module, _)| module)
}

/// Adds lines to the errors if they can be found; each error once.
fn located(errors: Vec<SchemaError>, source: &SchemaSource) -> Vec<SchemaError> {
    let mut kept: Vec<SchemaError> = Vec::new();
    for mut error in errors {
        locate(&mut error, source);
        if !kept.contains(&error) {
            kept.push(error);
        }
    }
    kept
}

fn out_of_memory() -> SchemaErrors {
    SchemaErrors::new(vec![SchemaError {
        module: String::new(),
        line: 0,
        path: String::new(),
        message: "There is not enough memory to compile the modules.".to_owned(),
    }])
}
