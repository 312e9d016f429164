//! `espalier documents find`.

use std::ops::Bound;

use clap::Args;
use espalier_documents::{Query, Value};

use super::arguments::{StoreOption, value};
use super::print;
use crate::settings::Settings;
use espalier_terminal::{Failure, Result};

/// Find documents by the values of an index: one, several, or a range
#[derive(Args, Debug)]
#[command(after_help = "\
A value that is valid JSON (1999, true) is taken as JSON, else as a string; the string 1999 is written \
'\"1999\"'. A value of a compound index is a JSON array; a shorter array matches all values that begin with it.

Examples:
  espalier documents find cars name Corvet-1 --store embedded:garage
  espalier documents find cars keyword fast old --all --store embedded:garage
  espalier documents find cars color red blue --any --json --store embedded:garage
  espalier documents find cars color --from b --before s --limit 10 --store embedded:garage
  espalier documents find cars color-and-year '[\"red\",1999]' --store embedded:garage")]
pub struct Find {
    /// The collection
    #[arg(value_name = "COLLECTION")]
    collection: String,

    /// The index
    #[arg(value_name = "INDEX")]
    index: String,

    /// The value; several with --all or --any
    #[arg(value_name = "VALUE", allow_negative_numbers = true)]
    values: Vec<String>,

    /// Documents that have all of the values
    #[arg(long, conflicts_with = "any")]
    all: bool,

    /// Documents that have any of the values
    #[arg(long)]
    any: bool,

    /// Documents with this value or a larger one
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true, conflicts_with_all = ["values", "after"])]
    from: Option<String>,

    /// Documents with a larger value
    #[arg(
        long,
        value_name = "VALUE",
        allow_negative_numbers = true,
        conflicts_with = "values"
    )]
    after: Option<String>,

    /// Documents with this value or a smaller one
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true, conflicts_with_all = ["values", "before"])]
    to: Option<String>,

    /// Documents with a smaller value
    #[arg(
        long,
        value_name = "VALUE",
        allow_negative_numbers = true,
        conflicts_with = "values"
    )]
    before: Option<String>,

    /// From the largest value to the smallest
    #[arg(long)]
    reverse: bool,

    /// Skip this many
    #[arg(long, value_name = "NUMBER", default_value = "0")]
    offset: usize,

    /// Print at most this many
    #[arg(long, value_name = "NUMBER")]
    limit: Option<usize>,

    /// Print keys only
    #[arg(long)]
    keys: bool,

    #[command(flatten)]
    pub store_option: StoreOption,
}

impl Find {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let collection = self.store_option.collection(settings, &self.collection)?;
        let index = collection.index(&self.index)?;
        let values: Vec<_> = self
            .values
            .iter()
            .map(|text| value(text))
            .collect::<Result<_>>()?;
        let limit = self.limit.unwrap_or(usize::MAX);
        if self.keys && !self.all && !self.any && values.len() < 2 {
            let query = self.query(values.into_iter().next())?.limit(limit);
            return print::keys(self.store_option.output_options, index.keys(query)?);
        }
        let found = match (values.as_slice(), self.all, self.any) {
            ([_, _, ..], false, false) => {
                return Err(
                    Failure::usage("several values are meant together or each for itself")
                        .hint("add --all or --any"),
                );
            }
            ([], true, _) | ([], _, true) => {
                return Err(Failure::usage("--all and --any are of values"));
            }
            (values, true, _) => self.page(index.all(values)?, limit),
            (values, _, true) => self.page(index.any(values)?, limit),
            _ => index.find(self.query(values.into_iter().next())?.limit(limit))?,
        };
        if self.keys {
            return print::keys(
                self.store_option.output_options,
                found.into_iter().map(|(key, _)| key),
            );
        }
        let found = found.iter().map(|(key, document)| (*key, &**document));
        print::documents(self.store_option.output_options.json, found)
    }

    fn page<D>(&self, mut found: Vec<(u64, D)>, limit: usize) -> Vec<(u64, D)> {
        if self.reverse {
            found.reverse();
        }
        found.into_iter().skip(self.offset).take(limit).collect()
    }

    fn query(&self, single: Option<Value>) -> Result<Query> {
        let bound = |included: &Option<String>, excluded: &Option<String>| {
            Ok::<_, Failure>(match (included, excluded) {
                (Some(text), _) => Bound::Included(value(text)?),
                (None, Some(text)) => Bound::Excluded(value(text)?),
                (None, None) => Bound::Unbounded,
            })
        };
        let query = match single {
            Some(value) => Query::value(value),
            None => Query::between(
                bound(&self.from, &self.after)?,
                bound(&self.to, &self.before)?,
            ),
        };
        let query = query.offset(self.offset);
        Ok(if self.reverse {
            query.reversed()
        } else {
            query
        })
    }
}
