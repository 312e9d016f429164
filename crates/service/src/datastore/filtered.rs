//! Filtered reads, as `get`, `get-config` and `get-data` make them.

use std::sync::Arc;

use espalier_store::{
    Datastore, Error, Filter, FilterExpression, PageNames, PageParameters, PageRequest, Result,
    Selection, View, Warning,
};
use espalier_yang::data::subtree_filter::{FilterNode, NamespaceBinding, SubtreeFilter};
use espalier_yang::{DataError, ErrorTag, ErrorType, Schema, Sink};

use super::SessionDatastore;
use super::call::READ;
use crate::server_state::is_state_module;

/// The filter of a request, before it is resolved against models.
#[derive(Clone, Debug, Default)]
pub enum RequestFilter {
    /// None: everything is selected.
    #[default]
    All,
    /// A subtree filter (RFC 6241 §6).
    Subtree(SubtreeFilter),
    /// An XPath filter (RFC 6241 §8.9).
    XPath(XPathFilter),
}

/// An XPath filter as a request has it.
#[derive(Clone, Debug, Default)]
pub struct XPathFilter {
    /// The expression.
    pub text: String,
    /// The namespace declarations in scope, the innermost of each prefix first.
    pub namespaces: Vec<NamespaceBinding>,
}

/// A part of the result of a filtered read. The parts have schemas of their own.
pub struct FilteredPart {
    view: View,
    filter: Filter,
    selection: Selection,
    /// The page of the list that the filter selects.
    page: Option<PageRequest>,
}

impl FilteredPart {
    /// The schema of the nodes.
    pub fn schema(&self) -> &Arc<Schema> {
        self.view.schema()
    }

    /// Sends the selected nodes, as [`View::read_filtered`]; of a page, as [`View::read_filtered_page`].
    ///
    /// # Errors
    /// As there.
    pub fn send(&self, sink: &mut dyn Sink) -> Result<()> {
        let Some(page) = &self.page else {
            return self.view.read_filtered(&self.filter, &self.selection, sink);
        };
        let (view, selection) = (&self.view, &self.selection);
        view.read_filtered_page(&self.filter, page, selection, sink)?;
        Ok(())
    }

    /// The part with a page; `None` if the filter does not select entries of one list of it.
    fn with_page(
        mut self,
        parameters: &PageParameters,
        names: &PageNames<'_>,
    ) -> Result<Option<Self>> {
        let schema = Arc::clone(self.view.schema());
        let Some(list) = self.filter.paged_list(&schema)? else {
            return Ok(None);
        };
        let request = parameters.request(&schema, &list, names);
        self.page = request.map_err(Error::from)?;
        Ok(Some(self))
    }

    /// Removes and returns the warnings since the last call: providers of state that failed.
    pub fn take_warnings(&self) -> Vec<Warning> {
        self.view.take_warnings()
    }
}

impl SessionDatastore {
    /// The parts of what a filter selects of the datastore: its own data; for operational, then the state of the server that
    /// the models of the anchor do not define. So `get` (RFC 6241 §7.7) and `get-data` of operational (RFC 8526 §3.1.1) are
    /// those of [`Datastore::Operational`]: the running configuration as it is applied, pushed state, that of providers and
    /// that of the server. A provider is called only if the filter selects data of it, with the path that the filter names.
    ///
    /// The parts are of one request: each must be sent once, one after another. An XPath filter is evaluated on each part
    /// by itself.
    ///
    /// # Errors
    /// `invalid-value` for a wrong expression, or origins of another datastore than operational; those of the store.
    pub fn filtered(
        &self,
        filter: &RequestFilter,
        selection: &Selection,
    ) -> Result<Vec<FilteredPart>> {
        let others = match self.datastore() == Datastore::Operational
            && self.served.is_none()
            && filter.may_select_others(self.schema())
        {
            true => self.server_state_part(filter, selection)?,
            false => None,
        };
        let own = match (filter.resolve(self.schema()), &others) {
            // The expression has names of modules that only the state of the server has.
            (Err(_), Some(_)) => Filter::Subtree(SubtreeFilter::default()),
            (own, _) => own?,
        };
        let view = self.counted(READ, |access| {
            let view = self.tree.view_for_filter(&own, selection)?;
            let view = view.with_access(access.table().cloned());
            view.check_selection(selection)?;
            Ok(view)
        })?;
        let own = FilteredPart {
            view,
            filter: own,
            selection: selection.clone(),
            page: None,
        };
        Ok([own].into_iter().chain(others).collect())
    }

    /// The page of the list that a filter selects entries of, in the datastore or in the state of the server, as
    /// [`Self::filtered`].
    ///
    /// # Errors
    /// `operation-not-supported` if the filter selects anything else than entries of one list or leaf-list, or needs an
    /// evaluation; those of [`PageParameters::request`] and of [`Self::filtered`].
    pub fn filtered_page(
        &self,
        filter: &RequestFilter,
        selection: &Selection,
        parameters: &PageParameters,
        names: &PageNames<'_>,
    ) -> Result<FilteredPart> {
        for part in self.filtered(filter, selection)? {
            if let Some(part) = part.with_page(parameters, names)? {
                return Ok(part);
            }
        }
        let message = "a page requires a filter that selects entries of one list or leaf-list only, by keys; other conditions are those of “where”";
        let error = DataError::new(ErrorTag::OperationNotSupported, message);
        Err(error.of_type(ErrorType::Application).into())
    }

    /// The state of the server that the models of the anchor do not define; `None` if there is none, or a name of the filter
    /// is not in its models.
    fn server_state_part(
        &self,
        filter: &RequestFilter,
        selection: &Selection,
    ) -> Result<Option<FilteredPart>> {
        let Some(state) = self.server_state()? else {
            return Ok(None);
        };
        let Ok(filter) = filter.resolve(state.schema()) else {
            return Ok(None);
        };
        let access = state.access()?;
        Ok(Some(FilteredPart {
            view: state.tree.view()?.with_access(access.table().cloned()),
            filter,
            selection: selection.clone(),
            page: None,
        }))
    }
}

impl RequestFilter {
    /// The filter of data with a schema.
    pub(crate) fn resolve(&self, schema: &Schema) -> Result<Filter> {
        Ok(match self {
            Self::All => Filter::All,
            Self::Subtree(filter) => Filter::Subtree(filter.clone()),
            Self::XPath(XPathFilter { text, namespaces }) => {
                let namespace_of = |prefix: Option<&str>| {
                    let mut bindings = namespaces.iter();
                    let found = bindings.find(|binding| binding.prefix.as_deref() == prefix);
                    found.map(|binding| binding.namespace.clone())
                };
                Filter::XPath(FilterExpression::parse(schema, text, &namespace_of)?)
            }
        })
    }

    /// Whether it may select top-level nodes that a schema does not have.
    fn may_select_others(&self, schema: &Schema) -> bool {
        let is_other = |node: &FilterNode| {
            let module = node
                .namespace()
                .and_then(|namespace| schema.module_by_namespace(namespace));
            module.is_none_or(|module| is_state_module(&schema.module(module).name))
                && (node.namespace().is_none() || node.schema_nodes(schema, None).is_empty())
        };
        match self {
            Self::Subtree(filter) => filter.nodes().iter().any(is_other),
            Self::All | Self::XPath(_) => true,
        }
    }
}
