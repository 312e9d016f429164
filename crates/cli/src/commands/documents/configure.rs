//! `espalier documents configure`.

use clap::Args;
use espalier_documents::{FieldIndex, Info, Kind, Policy};

use super::arguments::StoreOption;
use super::ls::DATA;
use crate::settings::Settings;
use espalier_terminal::output;
use espalier_terminal::{Failure, Result};

/// Create a collection, or change its indexes; print its definition
#[derive(Args, Debug)]
#[command(after_help = "\
An index takes its values from members of the documents, named by JSON pointers (RFC 6901); several \
make a compound index. A document without the member, or with null, is not in the index; a null in an array of \
tags is ignored. If the collection has documents, a new index is built while other processes write. If the documents \
do not allow the index, the collection stays unchanged. Without options, the command continues an interrupted build.

Examples:
  espalier documents configure cars --unique name=/name --partition color=/color \\
      --tags keyword=/keywords --store embedded:garage
  espalier documents configure cars --partition color-and-year=/color,/year --store embedded:garage
  espalier documents configure cars --drop-index keyword --policy cached --store embedded:garage")]
pub struct Configure {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    name: String,

    /// An index in which a value has one document; may be repeated
    #[arg(long, value_name = "NAME=/FIELD[,/FIELD]")]
    unique: Vec<String>,

    /// An index in which a value has any number of documents; may be repeated
    #[arg(long, value_name = "NAME=/FIELD[,/FIELD]")]
    partition: Vec<String>,

    /// An index over an array, in which a document has any number of values; may be repeated
    #[arg(long, value_name = "NAME=/FIELD")]
    tags: Vec<String>,

    /// An index to drop; may be repeated
    #[arg(long, value_name = "NAME")]
    drop_index: Vec<String>,

    /// The memory policy of servers: uncached, indexed, recent or cached
    /// [default of a new collection: uncached]
    #[arg(long, value_name = "POLICY")]
    policy: Option<String>,

    #[command(flatten)]
    pub store_option: StoreOption,
}

impl Configure {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let documents = self.store_option.new_documents(settings)?;
        let stored = documents
            .list()?
            .into_iter()
            .find(|info| info.name == self.name);
        let is_asked = self.policy.is_some()
            || !self.drop_index.is_empty()
            || [&self.unique, &self.partition, &self.tags]
                .iter()
                .any(|given| !given.is_empty());
        if let (Some(info), false) = (&stored, is_asked) {
            if info.indexes.iter().all(|index| index.is_built) {
                return self.print(info);
            }
            let collection = documents.open(&self.name, Some(info.policy))?;
            collection.build()?;
            return self.print(&collection.info()?);
        }
        let policy = self.policy(stored.as_ref())?;
        let indexes = self.indexes(stored.as_ref())?;
        let collection = documents.configure(&self.name, policy, indexes)?;
        self.print(&collection.info()?)
    }

    fn policy(&self, stored: Option<&Info>) -> Result<Policy> {
        let policy = match &self.policy {
            None => stored.map(|info| info.policy).unwrap_or_default(),
            Some(text) => text
                .parse()
                .map_err(|error: espalier_documents::Error| Failure::usage(error.to_string()))?,
        };
        if policy == Policy::Ram {
            return Err(Failure::usage(
                "a collection of policy ram lives in one process, and this one ends",
            )
            .hint("make it in a server: PUT /documents/NAME with {\"policy\":\"ram\"}"));
        }
        Ok(policy)
    }

    fn indexes(&self, stored: Option<&Info>) -> Result<Vec<FieldIndex>> {
        let mut indexes = Vec::new();
        for index in stored.into_iter().flat_map(|info| &info.indexes) {
            if let Some(fields) = &index.fields {
                indexes.push(FieldIndex {
                    name: index.name.clone(),
                    kind: index.kind,
                    fields: fields.clone(),
                });
            }
        }
        for name in &self.drop_index {
            let before = indexes.len();
            indexes.retain(|index| index.name != *name);
            if indexes.len() == before {
                return Err(Failure::usage(format!(
                    "{:?} has no index {name:?}",
                    self.name
                )));
            }
        }
        let given = [
            (Kind::Unique, &self.unique),
            (Kind::Partition, &self.partition),
            (Kind::Tags, &self.tags),
        ];
        let mut new = Vec::new();
        for (kind, texts) in given {
            for text in texts {
                new.push(index(kind, text)?);
            }
        }
        // A name that is given twice is rejected when all indexes are declared.
        indexes.retain(|stored| new.iter().all(|index| index.name != stored.name));
        indexes.extend(new);
        Ok(indexes)
    }

    fn print(&self, info: &Info) -> Result<()> {
        output::print_result(
            self.store_option.output_options.json,
            &info.to_json(),
            &to_text(info),
        )
    }
}

fn index(kind: Kind, text: &str) -> Result<FieldIndex> {
    let (name, fields) = text.split_once('=').ok_or_else(|| {
        Failure::usage(format!(
            "{text:?} is no index; write NAME=/FIELD, as in color=/color"
        ))
    })?;
    if name == DATA {
        let message = format!("{DATA:?} is what `ls` calls the documents themselves");
        return Err(Failure::usage(message).hint("give the index another name"));
    }
    Ok(FieldIndex {
        name: name.to_owned(),
        kind,
        fields: fields.split(',').map(str::to_owned).collect(),
    })
}

fn to_text(info: &Info) -> String {
    let mut text = format!(
        "{} ({}, schema version {})",
        info.name, info.policy, info.schema_version
    );
    for index in &info.indexes {
        let fields = match &index.fields {
            Some(fields) => fields.join(", "),
            None => "declared by a program".to_owned(),
        };
        let state = if index.is_built {
            ""
        } else {
            ", being built (configure without options continues an interrupted build)"
        };
        text.push_str(&format!(
            "\n  {:<9} {:<20} {fields}{state}",
            index.kind, index.name
        ));
    }
    text
}
