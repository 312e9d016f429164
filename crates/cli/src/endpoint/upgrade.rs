//! Applies the modules named by a command to the store: creates the schema set, or upgrades it.

use std::sync::Arc;

use espalier_service::Service;
use espalier_service::audit::{AuditEntry, AuditOperation, AuditTarget};
use espalier_service::operations::upgrade_json;
use espalier_store::{
    Datastore, Error, LoadOptions, Store, UnknownData, UpgradeLoad, UpgradeOptions, UpgradeReport,
};
use espalier_yang::Schema;
use espalier_yang::data::{ParseOptions, Root};
use espalier_yang::schema::SchemaSource;
use serde_json::Value;

use super::applied_modules::{AppliedModules, Created, ReplacedModules};
use super::local::{command_session, open_store_for_command, set_validation};
use crate::endpoint::{Changed, Loaded, OpenMode, Upload};
use crate::modules;
use crate::settings::{Settings, Validation};
use espalier_terminal::document;
use espalier_terminal::output;
use espalier_terminal::{Failure, Result};

/// Creates the dataspace, schema set and anchor with the modules of the settings, if they name any, or upgrades the
/// schema set to them. Returns what was done. A schema set has the name of its anchor. If it fails, it leaves nothing new
/// behind.
pub fn apply_modules(
    store: &Store,
    settings: &Settings,
    source: Option<SchemaSource>,
) -> Result<AppliedModules> {
    let Some(source) = source else {
        return match settings.dry_run {
            true => Err(Failure::usage("--dry-run tries a change of modules")
                .hint("name the new modules: --yang FILE|DIR|NAME")),
            false => Ok(AppliedModules::default()),
        };
    };
    let (dataspace, anchor) = (settings.dataspace(), settings.anchor());
    let existing = stored_modules(store, settings)?;
    if settings.dry_run {
        return Err(dry_run(store, settings, &source, existing.as_ref()));
    }
    let mut applied = AppliedModules::new(dataspace, anchor);
    if let Some(before) = existing.filter(|existing| *existing != source) {
        let report = store
            .upgrade_schema_set(dataspace, anchor, &source, options(settings))
            .map_err(modules_failure)?;
        record_change(store, settings)?;
        applied.replaced = Some(ReplacedModules {
            author: settings.author().to_owned(),
            session: settings.session().to_owned(),
            before,
            now: source,
            report,
        });
        applied.created.anchor = is_new(store.create_anchor(dataspace, anchor, anchor))?;
        return Ok(applied);
    }
    match create(store, settings, &source, &mut applied.created) {
        Ok(()) => Ok(applied),
        Err(failure) => Err(applied.revert(store, failure)),
    }
}

/// Creates what does not exist yet, and records in `created` what it was.
fn create(
    store: &Store,
    settings: &Settings,
    source: &SchemaSource,
    created: &mut Created,
) -> Result<()> {
    let (dataspace, anchor) = (settings.dataspace(), settings.anchor());
    created.dataspace = is_new(store.create_dataspace(dataspace))?;
    created.schema_set = is_new(store.create_schema_set(dataspace, anchor, source))?;
    if created.schema_set {
        record_change(store, settings)?;
    }
    created.anchor = is_new(store.create_anchor(dataspace, anchor, anchor))?;
    Ok(())
}

/// Records in the audit log that the modules of the anchor were installed or replaced.
fn record_change(store: &Store, settings: &Settings) -> Result<()> {
    let service = Service::offline(store.clone(), None)?;
    let session = command_session(&service, "")?;
    let target = AuditTarget::SchemaSet {
        dataspace: settings.dataspace().to_owned(),
        name: settings.anchor().to_owned(),
    };
    service.audit().append(AuditEntry {
        target: Some(target),
        ..AuditEntry::new(AuditOperation::SchemaChange).of_session(&session)
    })?;
    Ok(())
}

/// The modules of the schema set of the settings; `None` if it does not exist.
fn stored_modules(store: &Store, settings: &Settings) -> Result<Option<SchemaSource>> {
    match store.schema_set(settings.dataspace(), settings.anchor()) {
        Ok(existing) => Ok(Some(existing.source)),
        Err(Error::Unknown { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Fails if the store has other modules than `source`: a command that reads does not replace them.
pub(super) fn refuse_other_modules(
    store: &Store,
    settings: &Settings,
    source: &SchemaSource,
) -> Result<()> {
    let stored = stored_modules(store, settings)?;
    let Some(difference) = stored.and_then(|stored| modules::difference(&stored, source)) else {
        return Ok(());
    };
    let message = format!(
        "the modules of the store differ from those of --yang: {difference}; a command that reads does not replace them"
    );
    Err(Failure::usage(message).hint(
        "leave --yang out (also as ESPALIER_YANG, or yang in espalier.toml), or replace the modules first: `espalier upgrade --yang NEW`",
    ))
}

/// Loads a document in the commit that upgrades the store to the modules of the settings, so that the data need to be
/// valid only together with the document. Returns `None` if the modules are unchanged or the tree is empty: then the
/// upgrade and the load are separate steps.
/// `file` is the name of the document in errors.
pub fn load_with_modules(
    settings: &Settings,
    upload: &mut Upload<'_>,
    file: &str,
) -> Result<Option<Loaded>> {
    let datastore = settings.datastore()?;
    let is_tree = matches!(
        datastore,
        Datastore::Running | Datastore::Startup | Datastore::FactoryDefault
    );
    if settings.store.is_none() || settings.yang.is_empty() || !is_tree {
        return Ok(None);
    }
    // Before the store is opened, as in `open_tree`.
    let Some(source) = modules::source(settings)? else {
        return Ok(None);
    };
    let store = open_store_for_command(settings, OpenMode::for_write(settings))?;
    let (dataspace, anchor) = (settings.dataspace(), settings.anchor());
    match store.schema_set(dataspace, anchor) {
        Ok(existing) if existing.source != source => {}
        Ok(_) | Err(Error::Unknown { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    match store.tree(dataspace, anchor, datastore) {
        Ok(tree) if tree.view()?.version()? > 0 => {}
        Ok(_) | Err(Error::Unknown { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let loaded = load_in_upgrade(&store, settings, &source, (upload, file))?;
    set_validation(&store, settings)?;
    Ok(Some(loaded))
}

fn load_in_upgrade(
    store: &Store,
    settings: &Settings,
    source: &SchemaSource,
    (upload, file): (&mut Upload<'_>, &str),
) -> Result<Loaded> {
    let (dataspace, anchor) = (settings.dataspace(), settings.anchor());
    let datastore = settings.datastore()?;
    let failure = |error: Error| match error {
        Error::Data(_) => Failure::from(error).in_file(file),
        error => modules_failure(error),
    };
    let (format, mode) = (upload.format, upload.mode);
    let input = &mut upload.input;
    let mut document = |schema: &Arc<Schema>, sink: &mut dyn espalier_yang::Sink| {
        let options = ParseOptions::default();
        Ok(document::parse(
            format,
            schema,
            Root::Datastore,
            &mut **input,
            sink,
            &options,
        )?)
    };
    let mut load = UpgradeLoad {
        anchor,
        datastore,
        options: LoadOptions {
            mode,
            ..LoadOptions::default()
        },
        document: &mut document,
        fragments: 0,
        values: 0,
    };
    let options = options(settings);
    if settings.dry_run {
        let tried = store.check_upgrade(dataspace, anchor, source, options, Some(&mut load));
        return Err(tried.map_or_else(failure, |report| dry_run_result(settings, &report)));
    }
    let report = store
        .upgrade_schema_set_with(dataspace, anchor, source, options, &mut load)
        .map_err(failure)?;
    record_change(store, settings)?;
    let (fragments, values) = (load.fragments, load.values);
    log_report(&report);
    let mut datastores = report.datastores.iter();
    let changed =
        datastores.find(|changed| changed.anchor == anchor && changed.datastore == datastore);
    Ok(Loaded {
        fragments: Some(fragments),
        values: Some(values),
        changed: Changed {
            version: changed.map(|changed| changed.version.unwrap_or(changed.before)),
            is_changed: changed.map(|changed| changed.version.is_some()),
        },
    })
}

/// The upgrade options of the settings.
pub fn options(settings: &Settings) -> UpgradeOptions<'_> {
    UpgradeOptions {
        unknown: UnknownData::of(settings.drop_unknown),
        author: settings.author(),
        comment: settings.comment.as_deref().unwrap_or_default(),
        fills: &settings.fill,
        session: settings.session(),
        removed: &[],
        based_on: None,
        // If the validation is reduced to structure, the upgrade validates no more than that.
        structure_only_anchor: match settings.validation {
            Some(Validation::Structure) => Some(settings.anchor()),
            Some(Validation::Full) | None => None,
        },
    }
}

/// Prints what an upgrade would do; returns the value that ends the command.
fn dry_run(
    store: &Store,
    settings: &Settings,
    source: &SchemaSource,
    existing: Option<&SchemaSource>,
) -> Failure {
    let (dataspace, anchor) = (settings.dataspace(), settings.anchor());
    let tried = match existing {
        Some(existing) if existing != source => {
            store.check_upgrade(dataspace, anchor, source, options(settings), None)
        }
        _ => Ok(UpgradeReport::default()),
    };
    tried.map_or_else(modules_failure, |report| dry_run_result(settings, &report))
}

fn dry_run_result(settings: &Settings, report: &UpgradeReport) -> Failure {
    let report = upgrade_json(report);
    let text = format!("{}\nnothing was changed", upgrade_text(&report));
    match output::print_result(settings.json, &report, &text) {
        Ok(()) => Failure::done(),
        Err(failure) => failure,
    }
}

/// The report of an upgrade as text, from the JSON of
/// [`upgrade_json`](espalier_service::operations::upgrade_json).
pub fn upgrade_text(report: &Value) -> String {
    let mut lines = lines(report);
    if !is_rewritten(report) {
        lines.insert(0, "all data fit the modules as they are".to_owned());
    }
    lines.join("\n")
}

fn is_rewritten(report: &Value) -> bool {
    let mut datastores = report["datastore"].as_array().into_iter().flatten();
    datastores.any(|changed| changed["rewritten"] == true)
}

fn lines(report: &Value) -> Vec<String> {
    let datastores = report["datastore"].as_array();
    datastores
        .into_iter()
        .flatten()
        .flat_map(lines_of)
        .collect()
}

fn lines_of(changed: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut lines = Vec::new();
    let name = [&changed["datastore"], &changed["session"]].map(text);
    let name = format!(
        "{} of {}",
        name.join(" ").trim_end(),
        text(&changed["anchor"])
    );
    for done in ["converted", "removed", "filled"] {
        let places = &changed[done];
        let count = number(&places["count"]).unwrap_or_default();
        if count > 0 {
            lines.push(format!("{name}: {count} {done}"));
        }
        let shown = places["place"].as_array().map_or(&[][..], Vec::as_slice);
        lines.extend(
            shown
                .iter()
                .map(|place| format!("  {}: {}", text(&place["path"]), text(&place["change"]))),
        );
        let more = count.saturating_sub(shown.len() as u64);
        if more > 0 {
            lines.push(format!("  and {more} more"));
        }
    }
    if let Some(version) = number(&changed["version"]) {
        lines.push(format!("{name}: version {version}"));
    }
    lines
}

/// A uint64, which is a text in JSON (RFC 7951 §6.1).
fn number(value: &Value) -> Option<u64> {
    value.as_str()?.parse().ok()
}

/// Logs how much data an upgrade changed, for commands that do not print its report.
pub(super) fn log_report(report: &UpgradeReport) {
    for changed in &report.datastores {
        let (converted, removed) = (changed.converted.count, changed.dropped.count);
        if converted + removed == 0 {
            continue;
        }
        tracing::warn!(
            anchor = %changed.anchor,
            datastore = changed.datastore.name(),
            converted,
            removed,
            "the data were brought to the modules of --yang"
        );
    }
}

/// Whether something was created; `false` if it exists already.
fn is_new(created: espalier_store::Result<()>) -> Result<bool> {
    match created {
        Ok(()) => Ok(true),
        Err(Error::Exists { .. }) => Ok(false),
        Err(error) => Err(modules_failure(error)),
    }
}

fn modules_failure(error: Error) -> Failure {
    match error {
        Error::Schema(errors) => Failure::data(format!("the modules do not compile\n  {errors}")),
        other => other.into(),
    }
}
