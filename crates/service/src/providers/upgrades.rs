//! The data that programs convert when the revision of a module changes.

use std::time::Duration;

use espalier_store::{Error, Result, Selection, Tree, View};
use espalier_yang::data::{ParseOptions, PrintOptions, Root, json};
use espalier_yang::schema::SchemaSource;
use espalier_yang::{InstancePath, Keys, Schema, Sink};
use serde_json::{Map, Value as Json};

use super::connection::{SharedConnection, data_of};
use super::description::UpgradeRole;
use super::state::seconds;
use crate::service::Service;

/// The default timeout of the conversion of a module's data.
pub const UPGRADE_TIMEOUT: Duration = Duration::from_secs(60);

/// The programs to call for a change of modules.
pub(crate) struct UpgradeCallbacks {
    tree: Tree,
    calls: Vec<Conversion>,
}

/// One module that a program converts.
struct Conversion {
    connection: SharedConnection,
    role: usize,
    module: String,
    from: String,
    to: String,
    timeout: Duration,
}

impl UpgradeCallbacks {
    /// The programs for the modules of an anchor whose revision changes; `None` if there are none.
    ///
    /// # Errors
    /// A timeout of a role is not possible.
    pub fn of(service: &Service, tree: &Tree, source: &SchemaSource) -> Result<Option<Self>> {
        let mut calls = Vec::new();
        for (connection, number, role) in service.providers().upgrades(tree.anchor_id()) {
            let UpgradeRole { module, timeout } = role;
            if let Some((from, to)) = change_of_revision(tree.schema(), source, &module) {
                let timeout = seconds(timeout, UPGRADE_TIMEOUT)?;
                let role = number;
                calls.push(Conversion {
                    connection,
                    role,
                    module,
                    from,
                    to,
                    timeout,
                });
            }
        }
        let tree = tree.clone();
        Ok((!calls.is_empty()).then_some(Self { tree, calls }))
    }

    /// Sends the data of running under the new modules: that of the programs for their modules, all other data as it is.
    ///
    /// # Errors
    /// Those of a program, and of what it returned.
    pub fn convert(&self, new: &Schema, sink: &mut dyn Sink) -> Result<()> {
        let view = self.tree.view()?;
        let modules: Vec<&str> = self.calls.iter().map(|call| &*call.module).collect();
        let others = document(&view, &|module| !modules.contains(&module))?;
        parse(new, &others, sink)?;
        let mut converted: Vec<(&str, Json)> = Vec::new();
        for call in &self.calls {
            let earlier = converted
                .iter()
                .position(|(module, _)| *module == call.module);
            let data = match earlier {
                // Several programs convert one module, one after the other.
                Some(at) => converted.remove(at).1,
                None => {
                    let text = document(&view, &|module| module == call.module)?;
                    serde_json::from_slice(&text).unwrap_or_default()
                }
            };
            converted.push((&call.module, call.convert(data)?));
        }
        for (_, data) in &converted {
            parse(new, data.to_string().as_bytes(), sink)?;
        }
        Ok(())
    }
}

impl Conversion {
    fn convert(&self, data: Json) -> Result<Json> {
        let mut message = Map::new();
        let mut put = |name: &str, value: Json| message.insert(name.to_owned(), value);
        put("role", self.role.into());
        put("module", self.module.clone().into());
        put("from", self.from.clone().into());
        put("to", self.to.clone().into());
        put("data", data.clone());
        let answer = self
            .connection
            .call("upgrade", message, self.timeout, &|| true);
        let answer = answer.map_err(|failure| failure.into_errors(self.connection.name()))?;
        Ok(data_of(answer).unwrap_or(data))
    }
}

/// The old and the new revision of a module, if they differ.
fn change_of_revision(
    schema: &Schema,
    source: &SchemaSource,
    module: &str,
) -> Option<(String, String)> {
    let old = schema
        .module(schema.module_by_name(module)?)
        .revision
        .clone();
    let mut named = source.modules.iter().filter(|one| one.name == module);
    let new = named.next()?.revision.clone();
    let text = |revision: Option<&str>| revision.unwrap_or_default().to_owned();
    let (old, new) = (text(old.as_deref()), text(new.as_deref()));
    (old != new).then_some((old, new))
}

/// The data at the top-level nodes of some modules, as a document.
fn document(view: &View, selects: &dyn Fn(&str) -> bool) -> Result<Vec<u8>> {
    let schema = view.schema();
    let mut printer = json::Printer::new(schema, Vec::new(), PrintOptions::default());
    for &root in schema.roots() {
        if selects(&schema.module(schema.node(root).module).name) {
            let path = InstancePath::root().child(root, Keys::None);
            view.read(&path, &Selection::default(), &mut printer)?;
        }
    }
    printer
        .finish()
        .map_err(|error| Error::data(espalier_yang::ErrorTag::OperationFailed, error.to_string()))
}

fn parse(schema: &Schema, text: &[u8], sink: &mut dyn Sink) -> Result<()> {
    let options = ParseOptions::default();
    Ok(json::parse(schema, Root::Datastore, text, sink, &options)?)
}
