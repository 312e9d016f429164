//! The data of a subscription to a datastore (RFC 8641), for its subscriber.

use std::fmt;
use std::sync::Arc;

use espalier_store::{Datastore, Filter, Result, Selection};
use espalier_yang::Schema;
use espalier_yang::data::subtree_filter::{NamespaceBinding, SubtreeFilter};
use espalier_yang::data::{TreeBuilder, xml};
use parking_lot::Mutex;

use super::SessionDatastore;
use super::filtered::{RequestFilter, XPathFilter};
use crate::notifications::{
    GivenFilter, PUSH_UPDATE_NODES_MAX, PushContents, PushSource, Renewed, named_selection,
};

/// A filter of a datastore, for the session of the subscriber.
pub(super) struct DatastoreSource {
    /// Opened again when the modules were replaced.
    of: Mutex<SessionDatastore>,
    /// The filter as the subscriber gave it.
    given: Option<GivenFilter>,
    /// The filter, or the configured one with that name.
    content: Option<GivenFilter>,
}

impl DatastoreSource {
    /// `None` if there is no configured filter with the name, or it is empty.
    pub fn new(of: SessionDatastore, given: Option<GivenFilter>) -> Result<Option<Self>> {
        let content = match &given {
            Some(GivenFilter::Name(name)) => match named_selection(&of.running_tree()?, name)? {
                None => return Ok(None),
                found => found,
            },
            given => given.clone(),
        };
        Ok(Some(Self {
            of: Mutex::new(of),
            given,
            content,
        }))
    }

    /// The datastore, with the modules that it has now.
    fn current(&self) -> Result<SessionDatastore> {
        let mut of = self.of.lock();
        if !of.tree.is_current()? {
            let running = of.service.event_context().reopened(&of.tree)?;
            let datastore = of.tree.datastore();
            let running = of.of_tree(running);
            *of = running.sibling(datastore)?;
        }
        Ok(of.clone())
    }

    /// The filter with the names of the modules of some schemas.
    fn request(&self, schemas: &[&Schema]) -> Result<RequestFilter> {
        Ok(match &self.content {
            None | Some(GivenFilter::Name(_)) => RequestFilter::All,
            Some(GivenFilter::XPath(text)) => RequestFilter::XPath(XPathFilter {
                text: text.clone(),
                namespaces: schemas.iter().flat_map(|schema| names_of(schema)).collect(),
            }),
            Some(GivenFilter::Subtree(content)) => {
                RequestFilter::Subtree(match xml::raw_xml(content) {
                    Some(text) => SubtreeFilter::parse_xml(&text)?,
                    None => SubtreeFilter::parse_json(schemas, content)?,
                })
            }
        })
    }
}

/// The prefixes of the expressions in JSON: the names of the modules (RFC 7951 §6.11 with RFC 8639 §2.2).
fn names_of(schema: &Schema) -> impl Iterator<Item = NamespaceBinding> + '_ {
    schema.modules().iter().map(|module| NamespaceBinding {
        prefix: Some(module.name.clone()),
        namespace: module.namespace.clone(),
    })
}

impl PushSource for DatastoreSource {
    fn read(&self) -> Result<PushContents> {
        let of = self.current()?;
        let server = of.server_schema()?;
        let filter = self.request(&[of.schema(), &server])?;
        let (mut parts, mut is_incomplete) = (Vec::new(), false);
        for part in of.filtered(&filter, &Selection::default())? {
            let mut builder = TreeBuilder::with_limit(PUSH_UPDATE_NODES_MAX);
            part.send(&mut builder)?;
            parts.push((Arc::clone(part.schema()), builder.finish()?));
            is_incomplete |= !part.take_warnings().is_empty();
        }
        Ok(PushContents {
            parts,
            is_incomplete,
        })
    }

    fn filter(&self, schema: &Schema) -> Result<Filter> {
        self.request(&[schema])?.resolve(schema)
    }

    fn content(&self) -> Option<&GivenFilter> {
        self.content.as_ref()
    }

    fn renewed(&self) -> Result<Renewed> {
        let Some(GivenFilter::Name(name)) = &self.given else {
            return Ok(Renewed::Unchanged);
        };
        let of = self.current()?;
        let found = named_selection(&of.running_tree()?, name)?;
        if found == self.content {
            return Ok(Renewed::Unchanged);
        }
        let source = Self::new(of, self.given.clone())?;
        Ok(match source {
            Some(source) => Renewed::Changed(Arc::new(source)),
            None => Renewed::Missing,
        })
    }
}

impl fmt::Debug for DatastoreSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let datastore = self.of.lock().datastore();
        f.debug_struct("DatastoreSource")
            .field("datastore", &datastore)
            .field("given", &self.given)
            .finish_non_exhaustive()
    }
}

impl SessionDatastore {
    /// The data of a datastore that a filter selects, for this session; `None` if there is no configured filter with that
    /// name.
    pub(crate) fn push_source(
        &self,
        datastore: Datastore,
        filter: Option<GivenFilter>,
    ) -> Result<Option<Arc<dyn PushSource>>> {
        let source = DatastoreSource::new(self.sibling(datastore)?, filter)?;
        Ok(source.map(|source| Arc::new(source) as Arc<dyn PushSource>))
    }
}
