//! The layout of files: `lib.rs` and `mod.rs` hold docs, `mod` and `pub use` only; file names are descriptive;
//! sibling folders have the same files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use syn::spanned::Spanned;

use super::report::Report;
use super::source::Source;

/// Generic names that do not describe a file's content.
const GENERIC_NAMES: &[&str] = &[
    "util", "utils", "common", "helper", "helpers", "manager", "misc",
];

/// Names of moods and metaphors, which do not describe a file's content to a new reader.
const METAPHOR_NAMES: &[&str] = &[
    "acting",
    "act",
    "acts",
    "answers",
    "ask",
    "asked",
    "asking",
    "bed",
    "below",
    "beside",
    "beyond",
    "distrust",
    "doubt",
    "doubtful",
    "facts",
    "guess",
    "keeper",
    "kept",
    "known",
    "lane",
    "lately",
    "manner",
    "opened",
    "others",
    "partly",
    "past",
    "pieces",
    "place",
    "pour",
    "promise",
    "rehearsal",
    "said",
    "seats",
    "seen",
    "settle",
    "several",
    "site",
    "speech",
    "stand",
    "strangers",
    "take",
    "talk",
    "target",
    "tell",
    "told",
    "touch",
    "trail",
    "trust",
    "wanted",
    "who",
    "withheld",
];

/// Folders whose sub-folders must all have the same files.
const SIBLINGS: &[&str] = &["crates/drivers/src"];

/// Sub-folders that are exempt: wrappers of drivers, and code shared by drivers.
const EXEMPT: &[&str] = &[
    "crates/drivers/src/buffered",
    "crates/drivers/src/policy",
    "crates/drivers/src/recent_commits",
];

/// Checks one file.
pub fn check_file(source: &Source, report: &mut Report) {
    check_name(source, report);
    if ["lib.rs", "mod.rs"].contains(&source.file_name()) && !source.is_test() {
        check_contents(source, report);
    }
}

fn check_name(source: &Source, report: &mut Report) {
    let parts = source.path.iter().filter_map(|part| part.to_str());
    for part in parts {
        let name = part.trim_end_matches(".rs");
        if METAPHOR_NAMES.contains(&name) {
            let message = format!("{part:?} is a mood or a metaphor: use the noun of the field");
            report.add(&source.path, 1, message);
        }
        if GENERIC_NAMES.contains(&name) {
            let message = format!("{part:?} is a generic name: name the file after its content");
            report.add(&source.path, 1, message);
        }
    }
}

/// Checks that a file holds docs, `mod` and `pub use` only.
fn check_contents(source: &Source, report: &mut Report) {
    let has_docs = source
        .syntax
        .attrs
        .iter()
        .any(|attribute| attribute.path().is_ident("doc"));
    if !has_docs {
        report.add(
            &source.path,
            1,
            "no module docs: describe the content and its purpose",
        );
    }
    for item in &source.syntax.items {
        let is_allowed = match item {
            syn::Item::Mod(item) => item.content.is_none(),
            syn::Item::Use(item) => !matches!(item.vis, syn::Visibility::Inherited),
            _ => false,
        };
        if !is_allowed {
            let message = "lib.rs and mod.rs hold docs, mod and pub use only: move this to a file";
            report.add(&source.path, item.span().start().line, message);
        }
    }
}

/// Compares the sub-folders of each of [`SIBLINGS`].
pub fn check_sibling_folders(root: &Path, report: &mut Report) -> io::Result<()> {
    for parent in SIBLINGS {
        let folder = root.join(parent);
        if folder.is_dir() {
            let mut folders = file_names(&folder)?;
            folders.retain(|name, _| {
                let path = Path::new(parent).join(name);
                !EXEMPT.iter().any(|exempt| path == Path::new(exempt))
            });
            compare(Path::new(parent), &folders, report);
        }
    }
    Ok(())
}

fn compare(parent: &Path, folders: &BTreeMap<PathBuf, BTreeSet<String>>, report: &mut Report) {
    let all: BTreeSet<_> = folders.values().flatten().collect();
    for (folder, names) in folders {
        for missing in all.iter().filter(|name| !names.contains(**name)) {
            let message = format!("{missing} is missing: sibling folders have the same files");
            report.add(parent.join(folder), 1, message);
        }
    }
}

fn file_names(folder: &Path) -> io::Result<BTreeMap<PathBuf, BTreeSet<String>>> {
    let mut folders = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.path().is_dir() {
            let names: io::Result<BTreeSet<_>> = fs::read_dir(entry.path())?
                .map(|file| Ok(file?.file_name().to_string_lossy().into_owned()))
                .collect();
            folders.insert(entry.file_name().into(), names?);
        }
    }
    Ok(folders)
}
