//! Computes the values of a document in an index.

use std::any::Any;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

use serde_json::Value as Json;
use smallvec::SmallVec;

use crate::definition::{Kind, Origin};
use crate::document::Document;
use crate::limits::VALUES_MAX;
use crate::value::from_json;
use crate::{Error, ErrorKind, JsonDocument, Result, Value};

/// The values of a document in one index, sorted, each once.
pub(crate) type Values = SmallVec<[Value; 1]>;

/// A declared function: appends the values of a document.
pub(crate) type Function<T> = Arc<dyn Fn(&T, &mut Values) + Send + Sync>;

/// The source of an index's values.
pub(crate) enum Source<T> {
    /// A function of the program, with its revision.
    Program(Function<T>, u32),
    /// Members of the documents.
    Fields(Vec<String>),
    /// A function of another program, with its revision.
    Unknown(u32),
}

impl<T> Clone for Source<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Program(function, revision) => Self::Program(Arc::clone(function), *revision),
            Self::Fields(fields) => Self::Fields(fields.clone()),
            Self::Unknown(revision) => Self::Unknown(*revision),
        }
    }
}

impl<T: Document> Source<T> {
    pub(crate) fn origin(&self) -> Origin {
        match self {
            Self::Program(_, revision) | Self::Unknown(revision) => Origin::Program(*revision),
            Self::Fields(fields) => Origin::Fields(fields.clone()),
        }
    }

    /// The values of a document.
    pub(crate) fn values(
        &self,
        name: &str,
        kind: Kind,
        document: &IndexedDocument<'_, T>,
    ) -> Result<Values> {
        let mut values = Values::new();
        match self {
            Self::Program(function, _) => function(document.document, &mut values),
            Self::Fields(fields) => {
                let found = fields_of(fields, kind, document.json()?, &mut values);
                found.map_err(|error| error.at(format_args!("index {name:?}")))?;
            }
            Self::Unknown(_) => {
                return Err(Error::definition(format!(
                    "index {name:?} is declared by a program, and only that program can write here"
                )));
            }
        }
        normalize(name, &mut values)?;
        Ok(values)
    }
}

/// Sorts the values, removes duplicates, and checks the limits.
fn normalize(name: &str, values: &mut Values) -> Result<()> {
    if values.len() > 1 {
        values.sort_unstable();
        values.dedup();
    }
    if values.len() > VALUES_MAX {
        return Err(Error::limit(format!(
            "index {name:?}: {} values of one document exceed the limit of {VALUES_MAX}",
            values.len()
        )));
    }
    values
        .iter()
        .try_for_each(Value::check)
        .map_err(|error| error.at(format_args!("index {name:?}")))
}

/// A document whose values are computed. Its JSON is made once for all indexes over members.
pub(crate) struct IndexedDocument<'a, T> {
    document: &'a T,
    json: OnceCell<Cow<'a, Json>>,
}

impl<'a, T: Document> IndexedDocument<'a, T> {
    pub(crate) fn new(document: &'a T) -> Self {
        Self {
            document,
            json: OnceCell::new(),
        }
    }

    fn json(&self) -> Result<&Json> {
        if let Some(json) = self.json.get() {
            return Ok(json);
        }
        let json = as_json(self.document)?;
        Ok(self.json.get_or_init(|| json))
    }
}

fn as_json<T: Document>(document: &T) -> Result<Cow<'_, Json>> {
    if let Some(json) = (document as &dyn Any).downcast_ref::<Json>() {
        return Ok(Cow::Borrowed(json));
    }
    if let Some(document) = (document as &dyn Any).downcast_ref::<JsonDocument>() {
        return Ok(Cow::Owned(document.to_json()));
    }
    let json = serde_json::to_value(document);
    json.map(Cow::Owned)
        .map_err(|error| Error::new(ErrorKind::Document, error.to_string()))
}

/// A document without a component, or with null for it, is not in the index; null among tags is ignored.
fn fields_of(fields: &[String], kind: Kind, document: &Json, values: &mut Values) -> Result<()> {
    let mut found = SmallVec::<[&Json; 4]>::new();
    for field in fields {
        match document.pointer(field) {
            None | Some(Json::Null) => return Ok(()),
            Some(json) => found.push(json),
        }
    }
    match (kind, found.as_slice()) {
        (Kind::Tags, [Json::Array(tags)]) => {
            for tag in tags.iter().filter(|tag| !tag.is_null()) {
                values.push(from_json([tag]).map_err(|error| error.at(&fields[0]))?);
            }
        }
        _ => {
            let place = fields.join(", ");
            let value = from_json(found).map_err(|error| error.at(place))?;
            values.push(value);
        }
    }
    Ok(())
}
