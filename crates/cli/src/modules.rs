//! Finds YANG modules in files, in folders and among the built-in modules.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use espalier_yang::schema::{Features, ModuleSource, SchemaSource};

use crate::mounts;
use crate::settings::Settings;
use espalier_terminal::{Failure, Result};

/// The maximum depth of nested folders.
const FOLDER_DEPTH_MAX: usize = 16;

/// Returns the modules named by the settings, or `None` if they name none.
pub fn source(settings: &Settings) -> Result<Option<SchemaSource>> {
    if settings.yang.is_empty() {
        return match settings.mount.is_empty() {
            true => Ok(None),
            false => Err(Failure::usage("--mount without --yang")
                .hint("give the modules with the mount points too")),
        };
    }
    // Names of mounted modules have the mount point before them.
    let own = settings.implement.iter().filter(|name| !name.contains('/'));
    let own: Vec<String> = own.cloned().collect();
    Ok(Some(SchemaSource {
        mounts: mounts::sources(settings)?,
        ..schema(&settings.yang, own, &settings.features)?
    }))
}

/// The schema of the modules at some locations.
pub fn schema(
    locations: &[String],
    implement: Vec<String>,
    features: &[String],
) -> Result<SchemaSource> {
    let mut modules = Vec::new();
    let mut enabled = BTreeMap::new();
    for location in locations {
        let before = modules.len();
        find(location, &mut modules)?;
        if let [built_in] = &modules[before..]
            && built_in.name == *location
            && let Some(supported) = espalier_service::modules::supported_features(built_in)
        {
            enabled.insert(location.clone(), Features::Only(supported));
        }
    }
    modules.sort();
    // The same file may be named twice: once in its folder, once by itself.
    modules.dedup();
    for name in &implement {
        if !modules.iter().any(|module| &module.name == name) {
            return Err(
                Failure::usage(format!("--implement {name}: no such module"))
                    .hint("name a module that --yang or --mount gives"),
            );
        }
    }
    for text in features {
        let (module, features) = read_features(text)?;
        enabled.insert(module, features);
    }
    let source = SchemaSource {
        modules,
        implement,
        features: enabled,
        mounts: Vec::new(),
    };
    Ok(source.without_unused())
}

/// Describes the first difference between the modules of a store and those that are given; `None` if they are equal.
pub fn difference(stored: &SchemaSource, given: &SchemaSource) -> Option<String> {
    if stored == given {
        return None;
    }
    let only_in = |of: &SchemaSource, other: &SchemaSource| {
        let mut modules = of.modules.iter();
        let module = modules.find(|module| !other.modules.contains(module))?;
        let has_name = other.modules.iter().any(|one| one.name == module.name);
        Some((module.name.clone(), has_name))
    };
    let text = match (only_in(stored, given), only_in(given, stored)) {
        (Some((name, true)), _) => format!("module {name} is another text or revision"),
        (Some((name, false)), _) => format!("module {name} is in the store only"),
        (None, Some((name, _))) => format!("module {name} is not in the store"),
        (None, None) if stored.implement != given.implement => {
            "--implement names other modules".to_owned()
        }
        (None, None) if stored.mounts != given.mounts => {
            "--mount gives other modules at mount points".to_owned()
        }
        (None, None) => "other features are enabled".to_owned(),
    };
    Some(text)
}

/// `module:a,b`.
fn read_features(text: &str) -> Result<(String, Features)> {
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
    let built_in = espalier_service::modules::named(location).ok_or_else(|| {
        Failure::usage(format!(
            "--yang {location}: no such file, folder or built-in module"
        ))
        .hint("`espalier schema --built-in` lists the modules that are built in")
    })?;
    modules.push(built_in.source());
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
    ModuleSource::from_text(text).ok_or_else(|| {
        Failure::usage("the file does not begin with `module NAME {` or `submodule NAME {`")
            .in_file(path.display())
            .hint("Espalier reads YANG, not YIN")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_read() {
        let (module, Features::Only(names)) = read_features("m:a,b").expect("features") else {
            panic!("not all of them");
        };
        assert_eq!(
            (module.as_str(), names),
            ("m", vec!["a".into(), "b".into()])
        );
        assert!(read_features("m").is_err());
    }
}
