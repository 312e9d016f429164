//! The modules of a server, and data under them.

use std::collections::BTreeSet;
use std::io::{Write, stderr};
use std::sync::Arc;

use espalier_protocols::netconf::Element;
use espalier_protocols::netconf_client::ClientError;
use espalier_protocols::netconf_client::operations::{self, Filter, ReadOptions};
use espalier_terminal::output::escaped;
use espalier_terminal::{Failure, Result};
use espalier_yang::Schema;
use espalier_yang::data::{
    DataTree, MetadataMode, ParseError, ParseOptions, Root, TreeBuilder, json, xml,
};
use espalier_yang::schema::{ModuleSource, SchemaSource};

use super::context::Context;
use super::output::malformed;
use crate::modules;

/// The maximum number of modules that are fetched.
const MODULES_MAX: usize = 10_000;

const MONITORING: &str = "urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring";
const LIBRARY: &str = "urn:ietf:params:xml:ns:yang:ietf-yang-library";

/// A module that a server has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerModule {
    pub name: String,
    pub revision: Option<String>,
}

/// The schema of a server: of the modules of `--yang`, else of those that the server has.
///
/// # Errors
/// The modules cannot be read or fetched, or do not compile.
pub fn schema(context: &Context) -> Result<Arc<Schema>> {
    if !context.client.yang.is_empty() {
        return of_files(&context.client.yang);
    }
    let listed = list(context)?;
    if listed.is_empty() {
        return Err(without_modules("the server lists no modules"));
    }
    let mut modules = Vec::new();
    for module in &listed {
        let text = fetch(context, module)?;
        modules.extend(ModuleSource::from_text(text));
    }
    let implement = implemented(context)?;
    let implement = implement
        .into_iter()
        .filter(|name| modules.iter().any(|one| one.name == *name));
    let source = SchemaSource {
        implement: implement.collect(),
        modules,
        ..SchemaSource::default()
    };
    compile(&source.without_unused())
}

/// The schema of modules in files and folders.
///
/// # Errors
/// They cannot be read, or do not compile.
pub fn of_files(yang: &[String]) -> Result<Arc<Schema>> {
    compile(&modules::schema(yang, Vec::new(), &[])?)
}

fn compile(source: &SchemaSource) -> Result<Arc<Schema>> {
    let compiled = Schema::compile(source);
    let schema = compiled
        .map_err(|errors| without_modules(&format!("the modules do not compile\n  {errors}")))?;
    Ok(Arc::new(schema))
}

fn without_modules(message: &str) -> Failure {
    Failure::data(message)
        .hint("--yang DIR gives the modules of the server; --output xml needs none")
}

/// The modules and submodules that the server lists (RFC 6022 §2.1.3).
///
/// # Errors
/// Those of the session and of the reply.
pub fn list(context: &Context) -> Result<Vec<ServerModule>> {
    let filter = format!("<netconf-state xmlns=\"{MONITORING}\"><schemas/></netconf-state>");
    let reply = context.request(get(filter))?;
    let data = reply.data().map_err(malformed)?;
    let mut found = BTreeSet::new();
    each_below(
        &data,
        &["netconf-state", "schemas", "schema"],
        &mut |schema| {
            let format = child_text(schema, "format")?.unwrap_or_default();
            // The value is an identity, with or without a prefix.
            let is_yang = format.rsplit(':').next() == Some("yang");
            if let Some(name) = child_text(schema, "identifier")?.filter(|_| is_yang) {
                let revision = child_text(schema, "version")?;
                found.insert(ServerModule {
                    name,
                    revision: revision.filter(|text| !text.is_empty()),
                });
            }
            Ok(())
        },
    )?;
    match found.len() > MODULES_MAX {
        true => Err(Failure::data(format!(
            "the server has more than {MODULES_MAX} modules (MODULES_MAX)"
        ))),
        false => Ok(found.into_iter().collect()),
    }
}

/// The text of a module (RFC 6022 §3.1).
///
/// # Errors
/// Those of the session and of the reply.
pub fn fetch(context: &Context, module: &ServerModule) -> Result<String> {
    let operation = operations::get_schema(&module.name, module.revision.as_deref(), None);
    let reply = context.request(operation)?;
    let data = reply.data().map_err(malformed)?;
    data.text().map_err(|error| malformed(error.into()))
}

/// The library of modules of a server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Library {
    /// `yang-library` (RFC 8525).
    Sets,
    /// `modules-state` (RFC 7895).
    State,
    /// The capabilities have all modules (RFC 6020 §5.6.4).
    None,
}

impl Library {
    /// That of a server.
    fn of(context: &Context) -> Self {
        let hello = context.session.hello();
        if hello.has("urn:ietf:params:netconf:capability:yang-library:1.1") {
            return Self::Sets;
        }
        match hello.has("urn:ietf:params:netconf:capability:yang-library:1.0") || hello.has(LIBRARY)
        {
            true => Self::State,
            false => Self::None,
        }
    }

    /// Calls `visit` with the modules that the server has, or with some of them. Only with what the server has, as yuma123
    /// ends when it is not there.
    fn each(
        self,
        context: &Context,
        modules: &str,
        visit: &mut dyn FnMut(&Element<'_>) -> Result<()>,
    ) -> Result<()> {
        let (filter, path) = match self {
            Self::None => return Ok(()),
            Self::Sets => (
                format!(
                    "<yang-library xmlns=\"{LIBRARY}\"><module-set>{modules}</module-set></yang-library>"
                ),
                &["yang-library", "module-set", "module"][..],
            ),
            Self::State => (
                format!("<modules-state xmlns=\"{LIBRARY}\">{modules}</modules-state>"),
                &["modules-state", "module"][..],
            ),
        };
        let reply = context.request(get(filter))?;
        let data = reply.data().map_err(malformed)?;
        each_below(&data, path, visit)
    }
}

/// The names of the modules that the server implements: as its library lists them, and as its hello does.
fn implemented(context: &Context) -> Result<Vec<String>> {
    let library = Library::of(context);
    let mut names = BTreeSet::new();
    let modules = match library {
        Library::Sets => "<module><name/></module>",
        Library::State | Library::None => "<module><name/><conformance-type/></module>",
    };
    library.each(context, modules, &mut |module| {
        let conformance = child_text(module, "conformance-type")?;
        if library == Library::Sets || conformance.as_deref() == Some("implement") {
            names.extend(child_text(module, "name")?);
        }
        Ok(())
    })?;
    if names.is_empty() {
        let capabilities = context.session.hello().capabilities.iter();
        names.extend(capabilities.filter_map(|capability| {
            let (_, parameters) = capability.split_once('?')?;
            let mut parameters = parameters.split('&');
            parameters.find_map(|parameter| parameter.strip_prefix("module=").map(str::to_owned))
        }));
    }
    Ok(names.into_iter().collect())
}

/// The namespaces of modules, as the library of the server has them. A server without a library, or without a module, has
/// fewer: it may know a prefix by itself.
pub fn namespaces_of(context: &Context, names: &[String]) -> Vec<(String, String)> {
    let module = |name: &String| format!("<module><name>{name}</name><namespace/></module>");
    let modules: String = names.iter().map(module).collect();
    let mut found = Vec::new();
    let visited = Library::of(context).each(context, &modules, &mut |module| {
        let both = (
            child_text(module, "name")?,
            child_text(module, "namespace")?,
        );
        if let (Some(name), Some(namespace)) = both {
            found.push((name, namespace));
        }
        Ok(())
    });
    if let Err(failure) = visited {
        tracing::debug!(%failure, "the library of the server was not read");
    }
    found.sort();
    found.dedup_by(|one, other| one.0 == other.0);
    found
}

fn get(subtree: String) -> String {
    operations::get(&ReadOptions {
        filter: Some(Filter::Subtree(subtree)),
        ..ReadOptions::default()
    })
}

/// Calls `visit` with the elements at a path of names.
fn each_below(
    element: &Element<'_>,
    names: &[&str],
    visit: &mut dyn FnMut(&Element<'_>) -> Result<()>,
) -> Result<()> {
    let Some((name, rest)) = names.split_first() else {
        return visit(element);
    };
    for child in children(element)? {
        if child.name == *name {
            each_below(&child, rest, visit)?;
        }
    }
    Ok(())
}

fn children<'m>(element: &Element<'m>) -> Result<Vec<Element<'m>>> {
    element.children().map_err(|error| malformed(error.into()))
}

fn child_text(element: &Element<'_>, name: &str) -> Result<Option<String>> {
    let mut found = children(element)?.into_iter();
    let child = found.find(|child| child.name == name);
    let text = child.map(|child| child.text()).transpose();
    text.map_err(|error| malformed(ClientError::from(error)))
}

/// The nodes of an element `data`. Those of modules that the schema does not have are left out, with a warning.
///
/// # Errors
/// The data do not conform to the modules.
pub fn data_tree(schema: &Schema, data: &Element<'_>) -> Result<DataTree> {
    let mut unknown = BTreeSet::new();
    let mut document = String::from("<data xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\">");
    for child in children(data)? {
        match schema.module_by_namespace(&child.namespace) {
            Some(_) => document.push_str(&child.standalone()),
            None => {
                unknown.insert(format!("{} in {}", child.name, child.namespace));
            }
        }
    }
    document.push_str("</data>");
    for name in unknown {
        // A failed write to standard error cannot be reported.
        let _ = writeln!(
            stderr(),
            "warning: no module is known for {}, which is left out",
            escaped(&name)
        );
    }
    resource_tree(schema, Root::Datastore, &document)
}

/// The nodes of a document of XML.
///
/// # Errors
/// The data do not conform to the modules.
pub fn resource_tree(schema: &Schema, root: Root, document: &str) -> Result<DataTree> {
    let (mut builder, options) = (TreeBuilder::new(), parse_options());
    let mut document = document.as_bytes();
    let parsed = xml::parse(schema, root, &mut document, &mut builder, &options);
    finish(schema, builder, parsed)
}

/// The nodes of a datastore in a document of JSON.
///
/// # Errors
/// The data do not conform to the modules.
pub fn json_tree(schema: &Schema, document: &str) -> Result<DataTree> {
    let (mut builder, options) = (TreeBuilder::new(), parse_options());
    let mut document = document.trim_start_matches('\u{feff}').as_bytes();
    let root = Root::Datastore;
    let parsed = json::parse(schema, root, &mut document, &mut builder, &options);
    finish(schema, builder, parsed)
}

fn parse_options() -> ParseOptions {
    ParseOptions {
        metadata: MetadataMode::Kept,
        ..ParseOptions::default()
    }
}

fn finish(
    schema: &Schema,
    builder: TreeBuilder,
    parsed: std::result::Result<(), ParseError>,
) -> Result<DataTree> {
    match parsed {
        // The builder has the reason.
        Ok(()) | Err(ParseError::Stopped) => {}
        Err(ParseError::Invalid(errors)) => {
            let message = "the data do not conform to the modules";
            return Err(Failure::invalid(message, &errors));
        }
        Err(error) => return Err(Failure::data(error.to_string())),
    }
    let mut tree = builder.finish().map_err(Failure::from)?;
    tree.normalise(schema);
    Ok(tree)
}
