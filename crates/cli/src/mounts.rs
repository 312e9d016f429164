//! Reads what is mounted at mount points (RFC 8528) from the options.

use std::collections::BTreeMap;

use espalier_terminal::{Failure, Result};
use espalier_yang::schema::{MountSource, MountedSchemas, SchemaSource};

use crate::modules;
use crate::settings::Settings;

/// `MODULE:LABEL`.
type Label<'a> = (&'a str, &'a str);

/// The options of one mount point.
#[derive(Default)]
struct Options<'a> {
    /// The leaf and its value, or `None` for all instances; and the locations of the modules.
    schemas: BTreeMap<Option<(&'a str, &'a str)>, Vec<String>>,
    references: Vec<String>,
    implement: Vec<String>,
}

/// What the settings mount.
pub fn sources(settings: &Settings) -> Result<Vec<MountSource>> {
    let mut points: BTreeMap<Label<'_>, Options<'_>> = BTreeMap::new();
    for text in &settings.mount {
        let (label, condition, location) = read_mount(text).ok_or_else(|| {
            Failure::usage(format!("--mount {text}: this cannot be read"))
                .hint("write MODULE:LABEL=DIR or MODULE:LABEL[LEAF=VALUE]=DIR")
        })?;
        let schemas = &mut points.entry(label).or_default().schemas;
        let locations = schemas.entry(condition).or_default();
        locations.push(location.to_owned());
    }
    for text in &settings.mount_reference {
        let found = text.split_once('=');
        let found = found.and_then(|(label, path)| Some((read_label(label)?, path)));
        let (options, path) = option_of(&mut points, found, "--mount-reference", text)?;
        options.references.push(path.to_owned());
    }
    for text in settings.implement.iter().filter(|text| text.contains('/')) {
        let found = text.split_once('/');
        let found = found.and_then(|(label, name)| Some((read_label(label)?, name)));
        let (options, name) = option_of(&mut points, found, "--implement", text)?;
        options.implement.push(name.to_owned());
    }
    let sources = points.into_iter();
    sources
        .map(|((module, label), options)| {
            Ok(MountSource {
                module: module.to_owned(),
                label: label.to_owned(),
                schemas: schemas(options, (module, label), &settings.features)?,
            })
        })
        .collect()
}

fn option_of<'o, 't, 'a>(
    points: &'o mut BTreeMap<Label<'a>, Options<'a>>,
    found: Option<(Label<'a>, &'t str)>,
    option: &str,
    text: &str,
) -> Result<(&'o mut Options<'a>, &'t str)> {
    let found = found.and_then(|(label, rest)| Some((points.get_mut(&label)?, rest)));
    found.ok_or_else(|| {
        Failure::usage(format!("{option} {text}: no such mount point"))
            .hint("begin it with a MODULE:LABEL that --mount gives")
    })
}

fn schemas(
    options: Options<'_>,
    (module, label): Label<'_>,
    features: &[String],
) -> Result<MountedSchemas> {
    let failed = |message: &str| Failure::usage(format!("--mount {module}:{label}: {message}"));
    let mut shared = None;
    let mut inline: BTreeMap<String, SchemaSource> = BTreeMap::new();
    let mut selector = None;
    for (condition, locations) in options.schemas {
        let schema = modules::schema(&locations, options.implement.clone(), features)?;
        match condition {
            None => shared = Some(schema),
            Some((leaf, value)) => {
                if *selector.get_or_insert(leaf) != leaf {
                    return Err(failed("the conditions name several leafs"));
                }
                inline.insert(value.to_owned(), schema);
            }
        }
    }
    match (shared, selector) {
        (Some(schema), None) => Ok(MountedSchemas::Shared {
            schema,
            parent_references: options.references,
        }),
        (None, Some(_)) if !options.references.is_empty() => Err(failed(
            "--mount-reference is for mount points without conditions",
        )),
        (None, Some(selector)) => Ok(MountedSchemas::Inline {
            selector: selector.to_owned(),
            schemas: inline,
        }),
        _ => Err(failed("give all modules with a condition, or none")),
    }
}

/// A mount point, the condition on its instances, and the location of modules.
type Mounted<'a> = (Label<'a>, Option<(&'a str, &'a str)>, &'a str);

/// `MODULE:LABEL=LOCATION` or `MODULE:LABEL[LEAF=VALUE]=LOCATION`.
fn read_mount(text: &str) -> Option<Mounted<'_>> {
    let (label, condition, location) = match text.split_once('[') {
        Some((label, rest)) if !label.contains('=') => {
            let (condition, location) = rest.split_once("]=")?;
            (label, Some(condition.split_once('=')?), location)
        }
        _ => {
            let (label, location) = text.split_once('=')?;
            (label, None, location)
        }
    };
    (!location.is_empty()).then_some((read_label(label)?, condition, location))
}

fn read_label(text: &str) -> Option<Label<'_>> {
    let (module, label) = text.split_once(':')?;
    (!module.is_empty() && !label.is_empty()).then_some((module, label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_has_a_label_and_may_have_a_condition() {
        let label = ("fleet", "device");
        assert_eq!(read_mount("fleet:device=a=[b"), Some((label, None, "a=[b")));
        assert_eq!(
            read_mount("fleet:device[model=x=y]=dir/[z]"),
            Some((label, Some(("model", "x=y")), "dir/[z]"))
        );
        for wrong in [
            "",
            "fleet=x",
            "fleet:device",
            "fleet:=x",
            "fleet:device=",
            "a:b[c]=d",
            "a:b[c=d",
        ] {
            assert_eq!(read_mount(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn conditions_are_for_all_modules_of_a_mount_point_or_for_none() {
        let failure = |mount: &[&str], references: &[&str]| {
            let settings = Settings {
                mount: mount.iter().map(|&text| text.into()).collect(),
                mount_reference: references.iter().map(|&text| text.into()).collect(),
                ..Settings::default()
            };
            sources(&settings).expect_err("a mistake").to_string()
        };
        let module = "a:b=ietf-ip";
        assert!(failure(&[module, "a:b[c=d]=ietf-ip"], &[]).contains("or none"));
        assert!(failure(&["a:b[c=d]=ietf-ip", "a:b[e=f]=ietf-ip"], &[]).contains("several leafs"));
        assert!(failure(&["a:b[c=d]=ietf-ip"], &["a:b=/x:y"]).contains("without conditions"));
        assert!(failure(&[module], &["a:c=/x:y"]).contains("no such mount point"));
    }
}
