//! The declaration of a collection by a program.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::definition::{FieldIndex, Kind, check_name, check_names};
use crate::document::Document;
use crate::index_values::{Function, Source};
use crate::value::IntoValue;
use crate::{Policy, Result, Trigger};

/// Migrates a document from the given schema version to the next.
pub(crate) type Migrate = Arc<dyn Fn(u32, Json) -> std::result::Result<Json, String> + Send + Sync>;

/// An index, as it is declared.
pub(crate) struct Declared<T> {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) source: Source<T>,
}

impl<T> Clone for Declared<T> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            kind: self.kind,
            source: self.source.clone(),
        }
    }
}

/// The declaration of a collection of documents of type `T`: its indexes, its policy, its triggers, its
/// schema version.
///
/// ```
/// # use espalier_documents::{Declaration, Policy};
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Car { name: String, color: Option<String>, keywords: Vec<String>, year: u32 }
///
/// let cars = Declaration::<Car>::new("cars")
///     .policy(Policy::Cached)
///     .unique("name", |car| car.name.clone())
///     .partition("color", |car| car.color.clone())
///     .partition("color-and-year", |car| car.color.clone().map(|color| (color, car.year)))
///     .tags("keyword", |car| car.keywords.clone());
/// ```
pub struct Declaration<T> {
    pub(crate) name: String,
    pub(crate) policy: Policy,
    pub(crate) schema_version: u32,
    pub(crate) migrate: Option<Migrate>,
    pub(crate) indexes: Vec<Declared<T>>,
    pub(crate) triggers: Vec<Arc<dyn Trigger<T>>>,
}

impl<T: Document> Declaration<T> {
    /// A collection without indexes, uncached.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            policy: Policy::default(),
            schema_version: 1,
            migrate: None,
            indexes: Vec::new(),
            triggers: Vec::new(),
        }
    }

    /// Sets the policy.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Adds an index in which each value has at most one document. The function returns the value of a
    /// document; if it returns `None`, the document is not in the index. A tuple is a value of several
    /// components.
    #[must_use]
    pub fn unique<V: IntoValue>(
        self,
        name: &str,
        value: impl Fn(&T) -> V + Send + Sync + 'static,
    ) -> Self {
        self.single(name, Kind::Unique, value)
    }

    /// Adds an index in which a value may have any number of documents.
    #[must_use]
    pub fn partition<V: IntoValue>(
        self,
        name: &str,
        value: impl Fn(&T) -> V + Send + Sync + 'static,
    ) -> Self {
        self.single(name, Kind::Partition, value)
    }

    /// Adds an index in which a document may have any number of values.
    #[must_use]
    pub fn tags<V: IntoValue, I: IntoIterator<Item = V>>(
        self,
        name: &str,
        values: impl Fn(&T) -> I + Send + Sync + 'static,
    ) -> Self {
        self.program(
            name,
            Kind::Tags,
            Arc::new(move |document, found| {
                let values = values(document).into_iter();
                found.extend(values.filter_map(IntoValue::into_value));
            }),
        )
    }

    fn single<V: IntoValue>(
        self,
        name: &str,
        kind: Kind,
        value: impl Fn(&T) -> V + Send + Sync + 'static,
    ) -> Self {
        self.program(
            name,
            kind,
            Arc::new(move |document, found| found.extend(value(document).into_value())),
        )
    }

    fn program(mut self, name: &str, kind: Kind, function: Function<T>) -> Self {
        self.indexes.push(Declared {
            name: name.to_owned(),
            kind,
            source: Source::Program(function, 0),
        });
        self
    }

    /// Adds an index over members of the documents' JSON. Programs without the type `T` can write to a
    /// collection only if all its indexes are of this sort.
    #[must_use]
    pub fn fields(mut self, index: FieldIndex) -> Self {
        self.indexes.push(Declared {
            name: index.name,
            kind: index.kind,
            source: Source::Fields(index.fields),
        });
        self
    }

    /// Sets the revision of the function of the last declared index. If the stored revision is different, the
    /// index is rebuilt. Change it when the function returns other values than before.
    #[must_use]
    pub fn revision(mut self, revision: u32) -> Self {
        if let Some(Declared {
            source: Source::Program(_, declared_revision),
            ..
        }) = self.indexes.last_mut()
        {
            *declared_revision = revision;
        }
        self
    }

    /// Sets the version of the type, from 1, and the function that migrates a document from the version given
    /// to the next. Opening the collection migrates older documents to this version.
    #[must_use]
    pub fn schema(
        mut self,
        version: u32,
        migrate: impl Fn(u32, Json) -> std::result::Result<Json, String> + Send + Sync + 'static,
    ) -> Self {
        self.schema_version = version;
        self.migrate = Some(Arc::new(migrate));
        self
    }

    /// Adds a trigger.
    #[must_use]
    pub fn trigger(mut self, trigger: impl Trigger<T>) -> Self {
        self.triggers.push(Arc::new(trigger));
        self
    }

    pub(crate) fn check(&self) -> Result<()> {
        check_name("a collection", &self.name)?;
        check_names(self.indexes.iter().map(|index| index.name.as_str()))?;
        for index in &self.indexes {
            match &index.source {
                Source::Fields(fields) => FieldIndex {
                    name: index.name.clone(),
                    kind: index.kind,
                    fields: fields.clone(),
                }
                .check()?,
                _ => check_name("an index", &index.name)?,
            }
        }
        Ok(())
    }
}
