//! An endpoint on a store that this process opens.

use std::io::{self, Write};
use std::sync::Arc;

use espalier_keyspace::Driver;
use espalier_service::access::Caller;
use espalier_service::notifications::Subscription;
use espalier_service::server_state::{DescribedAnchor, ModuleTexts, ServedAnchor, state_schema_of};
use espalier_service::session::{NewSession, Session, SessionKind, Transport};
use espalier_service::{Anchor, ChangeNote, Service, SessionDatastore};
use espalier_store::{
    Commit, CommitInfo, Edit, Error, LoadOptions, Retention, Store, SystemClock, Tree,
};
use espalier_yang::data::{DataTree, MetadataMode, ParseOptions, Root, TreeBuilder};
use espalier_yang::schema::SchemaSource;
use espalier_yang::{InstancePath, Schema};

use crate::endpoint::applied_modules::AppliedModules;
use crate::endpoint::invocation::{established, print_output};
use crate::endpoint::upgrade;
use crate::endpoint::{
    Change, Changed, Differences, Endpoint, Invocation, Loaded, OpenMode, OperationRequest,
    Outcome, Read, Rollback, Upload, diff_lines, open_engine, open_for_command, perform,
    print_view,
};
use crate::modules;
use crate::settings::{Settings, Validation};
use espalier_terminal::document::{self, Format, Found};
use espalier_terminal::{Failure, Result};

/// A tree of a store.
pub struct Local {
    of: SessionDatastore,
    service: Service,
    anchor: Anchor,
    store: Store,
    source: SchemaSource,
    applied: AppliedModules,
    author: String,
    comment: String,
}

/// Opens the store named by the settings.
pub fn open_store(settings: &Settings) -> Result<Store> {
    store_on(open_driver(settings, OpenMode::for_write(settings))?)
}

/// Opens the store named by the settings for one command; see [`open_for_command`].
pub fn open_store_for_command(settings: &Settings, open_mode: OpenMode) -> Result<Store> {
    store_on(open_for_command(store_url(settings)?, open_mode)?)
}

/// Opens the store on an engine.
pub fn store_on(driver: Arc<dyn Driver>) -> Result<Store> {
    Ok(Store::open(driver, Arc::new(SystemClock))?)
}

/// Opens the engine of the store named by the settings.
pub fn open_driver(settings: &Settings, open_mode: OpenMode) -> Result<Arc<dyn Driver>> {
    open_engine(store_url(settings)?, open_mode)
}

/// The URL of the store named by the settings.
fn store_url(settings: &Settings) -> Result<&str> {
    settings.store.as_deref().ok_or_else(|| {
        Failure::usage("this command works on a store").hint("add --store embedded:DIR")
    })
}

/// Opens the tree named by the settings. If they name modules, the dataspace, schema set and anchor are created, or
/// the schema set is upgraded to these modules.
pub fn open_tree(settings: &Settings) -> Result<Tree> {
    // Read before the store is opened, which may create it: a mistyped module name creates nothing.
    let source = modules::source(settings)?;
    Ok(open_with_modules(open_store(settings)?, settings, source)?.0)
}

/// Opens the tree in an open store. Returns also what was done to its modules.
fn open_with_modules(
    store: Store,
    settings: &Settings,
    source: Option<SchemaSource>,
) -> Result<(Tree, AppliedModules)> {
    let applied = upgrade::apply_modules(&store, settings, source)?;
    if let Some(report) = applied.report() {
        upgrade::log_report(report);
    }
    match tree_of(&store, settings) {
        Ok(tree) => Ok((tree, applied)),
        Err(failure) => Err(applied.revert(&store, failure)),
    }
}

/// Opens the tree named by the settings in an open store.
pub fn tree_of(store: &Store, settings: &Settings) -> Result<Tree> {
    set_validation(store, settings)?;
    let (dataspace, anchor) = (settings.dataspace(), settings.anchor());
    let tree = store.tree_of(dataspace, anchor, settings.datastore()?, settings.session());
    tree.map_err(|error| match error {
        Error::Unknown { .. } => Failure::data(format!("in this store, {error}"))
            .hint("create it by naming its modules: --yang FILE|DIR|NAME; `espalier info` lists what there is"),
        other => other.into(),
    })
}

/// Sets the validation of the anchor to that of the settings, if they have one and it differs.
pub(super) fn set_validation(store: &Store, settings: &Settings) -> Result<()> {
    let validation = match settings.validation {
        None => return Ok(()),
        Some(Validation::Full) => espalier_store::Validation::Full,
        Some(Validation::Structure) => espalier_store::Validation::Structure,
    };
    let (dataspace, anchor) = (settings.dataspace(), settings.anchor());
    if store.anchor(dataspace, anchor)?.validation == validation {
        return Ok(());
    }
    let set = store.set_validation(dataspace, anchor, validation);
    set.map_err(|error| {
        let hint = "the data break constraints of their models: correct them first, or keep --validation structure";
        Failure::from(error).hint(hint)
    })
}

/// The session of a command on a store.
pub fn command_session(service: &Service, name: &str) -> Result<Arc<Session>> {
    let session = service.sessions().open(NewSession {
        caller: Caller::default(),
        transport: Transport::CommandLine,
        peer: String::new(),
        kind: SessionKind::Connection,
        name: name.to_owned(),
    });
    session.map_err(|error| Failure::data(error.to_string()))
}

impl Local {
    /// Opens the tree named by the settings for one command, as [`open_tree`] does. If modules are replaced for a
    /// change that is then rejected, the previous ones are restored.
    pub fn open(settings: &Settings, open_mode: OpenMode) -> Result<Self> {
        // As in `open_tree`.
        let source = modules::source(settings)?;
        let store = open_store_for_command(settings, open_mode)?;
        let (tree, applied) = open_with_modules(store, settings, source)?;
        Ok(Self {
            applied,
            ..Self::new(tree, settings)?
        })
    }

    /// Opens the tree named by the settings for a command that reads: the modules of an existing schema set are never
    /// replaced.
    pub fn open_for_reading(settings: &Settings) -> Result<Self> {
        let source = modules::source(settings)?;
        let store = open_store_for_command(settings, OpenMode::Existing)?;
        if let Some(source) = source.as_ref().filter(|_| !settings.dry_run) {
            upgrade::refuse_other_modules(&store, settings, source)?;
        }
        let (tree, _) = open_with_modules(store, settings, source)?;
        Self::new(tree, settings)
    }

    /// Creates the endpoint of an open tree.
    pub fn new(tree: Tree, settings: &Settings) -> Result<Self> {
        let source = source_of(&tree, settings)?;
        let store = tree.store().clone();
        let service = Service::without_access_control(tree.clone())?;
        let session = command_session(&service, settings.session())?;
        Ok(Self {
            anchor: Anchor::of(&tree)?,
            of: service.datastore(&session, tree),
            service,
            store,
            source,
            applied: AppliedModules::default(),
            author: settings.author().to_owned(),
            comment: settings.comment.clone().unwrap_or_default(),
        })
    }

    /// The datastore.
    pub fn datastore(&self) -> &SessionDatastore {
        &self.of
    }

    /// Establishes a subscription (RFC 8639 §2.4.2), and begins to receive from it.
    pub fn establish(&self, terms: &serde_json::Value) -> Result<Subscription> {
        let id = established(self, terms)?;
        Ok(self.of.open_subscription(id)?)
    }

    /// Returns the result of a change; if it failed, restores the modules that were replaced for it.
    /// Describes the anchor, so that the state and operations of the server itself are available until the result is
    /// dropped.
    fn describe(&self) -> Result<DescribedAnchor> {
        Ok(self.service.describe(ServedAnchor {
            anchor: self.anchor.clone(),
            datastores: Vec::new(),
            texts: ModuleTexts::new(self.of.schema(), &self.source),
            texts_url: String::new(),
            streams_url: String::new(),
            restconf_capabilities: Vec::new(),
        })?)
    }

    fn or_revert_modules<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|failure| self.revert_modules(failure))
    }

    fn load_document(&self, upload: Upload<'_>) -> Result<Loaded> {
        let schema = Arc::clone(self.of.schema());
        let options = LoadOptions {
            mode: upload.mode,
            author: &self.author,
            comment: &self.comment,
            ..LoadOptions::default()
        };
        let input: &mut dyn io::Read = upload.input;
        let report = self.of.load(options, &mut |sink| {
            let options = ParseOptions {
                metadata: MetadataMode::Plain,
                ..ParseOptions::default()
            };
            document::parse(
                upload.format,
                &schema,
                Root::Datastore,
                input,
                sink,
                &options,
            )?;
            Ok(())
        })?;
        Ok(Loaded {
            fragments: Some(report.fragments),
            values: Some(report.values),
            changed: report.commit.into(),
        })
    }

    fn apply_change(&self, change: Change) -> Result<Changed> {
        let edits = match change {
            Change::Merge(tree) => vec![Edit::merge(InstancePath::root(), tree)],
            Change::Delete(path) => vec![Edit::delete(path)],
            Change::Document {
                text,
                format,
                parameters,
            } => {
                let document = annotated_tree(self.of.schema(), &text, format)?;
                let commit = parameters.apply(&self.of, document, self.note())?;
                return Ok(commit.map(Changed::from).unwrap_or_default());
            }
        };
        Ok(self.of.commit(&edits, self.note(), None)?.into())
    }

    fn note(&self) -> ChangeNote<'_> {
        ChangeNote {
            author: &self.author,
            comment: &self.comment,
        }
    }
}

/// The modules of the schema of a tree.
fn source_of(tree: &Tree, settings: &Settings) -> Result<SchemaSource> {
    let store = tree.store();
    let anchor = store.anchor(settings.dataspace(), settings.anchor())?;
    Ok(store
        .schema_set(settings.dataspace(), &anchor.schema_set)?
        .source)
}

/// Parses a document with its edit operations.
pub fn annotated_tree(schema: &Schema, text: &[u8], format: Format) -> Result<DataTree> {
    let options = ParseOptions {
        metadata: MetadataMode::Kept,
        ..ParseOptions::default()
    };
    let mut builder = TreeBuilder::new();
    let parsed = document::parse(
        format,
        schema,
        Root::Datastore,
        &mut &*text,
        &mut builder,
        &options,
    );
    match parsed {
        Ok(()) => Ok(builder.finish()?),
        Err(espalier_yang::data::ParseError::Stopped) => {
            builder.finish()?;
            Err(Failure::data("the document was not read to its end"))
        }
        Err(espalier_yang::data::ParseError::Invalid(errors)) => Err(Failure::invalid(
            "the document is not valid, and nothing was changed",
            &errors,
        )),
        Err(error) => Err(Failure::data(error.to_string())),
    }
}

impl From<Commit> for Changed {
    fn from(commit: Commit) -> Self {
        Self {
            version: Some(commit.version),
            is_changed: Some(commit.is_changed),
        }
    }
}

impl Endpoint for Local {
    fn source(&self) -> Result<SchemaSource> {
        Ok(self.source.clone())
    }

    fn schema(&self) -> Result<Arc<Schema>> {
        Ok(Arc::clone(self.of.schema()))
    }

    fn schema_at(&self, version: Option<u64>) -> Result<Arc<Schema>> {
        match version {
            Some(version) => Ok(Arc::clone(self.of.at(version)?.schema())),
            None => self.schema(),
        }
    }

    fn schema_of_path(&self, path: &str, version: Option<u64>) -> Result<Arc<Schema>> {
        let schema = self.schema_at(version)?;
        match state_schema_of(&schema, path)? {
            None => Ok(schema),
            Some(_) => Err(Failure::usage(format!(
                "{path} is state of a server, which a store does not have"
            ))
            .hint("read it from the server: --server URL")),
        }
    }

    fn revert_modules(&self, failure: Failure) -> Failure {
        self.applied.revert(&self.store, failure)
    }

    fn load(&self, upload: Upload<'_>) -> Result<Loaded> {
        self.or_revert_modules(self.load_document(upload))
    }

    fn read(&self, read: &Read<'_>, out: &mut dyn Write) -> Result<Found> {
        let view = match read.at {
            Some(version) => self.of.at(version)?,
            None => self.of.view()?,
        };
        print_view(&view, read, out)
    }

    fn history(&self, from: Option<u64>, limit: usize) -> Result<Vec<CommitInfo>> {
        Ok(self.of.history(from, limit)?)
    }

    fn diff(
        &self,
        differences: &Differences<'_>,
        line: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut failure = None;
        let result = diff_lines(&self.of, differences, &mut |text| {
            line(text).map_err(|error| {
                failure = Some(error);
                Error::Stopped
            })
        });
        match failure {
            Some(failure) => Err(failure),
            None => Ok(result?),
        }
    }

    fn rollback(&self, rollback: &Rollback) -> Result<Changed> {
        let note = ChangeNote {
            author: &rollback.author,
            comment: &rollback.comment,
        };
        Ok(self.of.rollback(rollback.version, note)?.into())
    }

    fn retention(&self) -> Result<Retention> {
        Ok(self.of.retention()?)
    }

    fn perform(&self, request: &OperationRequest) -> Result<Outcome> {
        self.or_revert_modules(perform(&self.of, request))
    }

    fn invoke(&self, invocation: &Invocation, out: &mut Vec<u8>) -> Result<Found> {
        let _described = self.describe()?;
        let schema = self.of.schema();
        let resolved = invocation.resolve(schema)?;
        let of =
            match Arc::ptr_eq(&resolved.schema, schema) {
                true => self.of.clone(),
                false => self.of.clone().server_state()?.ok_or_else(|| {
                    Failure::data("the operations of the server are not available")
                })?,
            };
        // The schema of the state is compiled from the same modules.
        let output = of.invoke(&resolved.path, &resolved.input)?;
        print_output(of.schema(), &output, invocation.format, out)
    }

    fn set_retention(&self, retention: Retention) -> Result<()> {
        Ok(self.of.set_retention(retention)?)
    }

    fn change(&self, change: Change) -> Result<Changed> {
        self.or_revert_modules(self.apply_change(change))
    }
}
