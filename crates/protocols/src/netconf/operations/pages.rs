//! `list-pagination` (draft-ietf-netconf-list-pagination-nc) of `get`, `get-config` and `get-data`.

use espalier_service::{FilteredPart, RequestFilter, SessionDatastore};
use espalier_store::{PageNames, PageParameters, Selection};
use espalier_yang::ErrorTag;

use super::output::Result;
use super::parameters::{PAGINATION, PAGINATION_NAMESPACE, Parameters, protocol_error};
use crate::netconf::message::Element;

/// The element with the parameters of a page.
pub(super) struct PageElement<'m> {
    pub parameters: PageParameters,
    /// The parameters whose values have names, with the namespaces that are declared for their prefixes.
    named: Vec<Element<'m>>,
}

impl<'m> PageElement<'m> {
    /// That of an operation, if it has one.
    ///
    /// # Errors
    /// `unknown-element` for another element than a parameter of pages; those of [`PageParameters::set`].
    pub fn of(operation: &Parameters<'m>) -> Result<Option<Self>> {
        let Some(element) = operation.get(PAGINATION) else {
            return Ok(None);
        };
        let mut pages = Self {
            parameters: PageParameters::default(),
            named: Vec::new(),
        };
        for child in element.children()? {
            let is_own = child.namespace == PAGINATION_NAMESPACE;
            if !is_own || !PageParameters::has_name(&child.name) {
                let message = format!("“{}” is no parameter of {PAGINATION}", child.name);
                let error = protocol_error(ErrorTag::UnknownElement, message);
                return Err(error.on_element(&child.name).into());
            }
            pages.parameters.set(&child.name, child.text()?.trim())?;
            if matches!(child.name.as_str(), "where" | "sort-by") {
                pages.named.push(child);
            }
        }
        Ok(Some(pages))
    }

    /// What a filter selects: the page of a list, or everything, with a limit of the lists below.
    pub fn parts(
        &self,
        of: &SessionDatastore,
        filter: &RequestFilter,
        selection: &Selection,
    ) -> Result<Vec<FilteredPart>> {
        if !self.parameters.needs_list() {
            return Ok(of.filtered(filter, selection)?);
        }
        let namespace_of = |prefix: &str| {
            let mut elements = self.named.iter();
            elements
                .find_map(|one| one.namespace_of(prefix))
                .map(Into::into)
        };
        let names = PageNames::Prefixes(&namespace_of);
        let part = of.filtered_page(filter, selection, &self.parameters, &names)?;
        Ok(vec![part])
    }
}
