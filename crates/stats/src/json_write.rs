//! The JSON form of a write, in an HTTP request or in an imported line.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    Calendar, Designator, Error, Metric, NestedValues, Number, PathValues, Result, Timestamp, Write,
};

/// The JSON name of an action.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Adds values.
    Track,
    /// Sets values.
    Assert,
    /// Counts values by class.
    Assort,
    /// Puts values into sketches.
    Observe,
}

/// A write in JSON. Numbers keep all their digits.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonWrite {
    /// The action, if it is not given elsewhere.
    pub action: Option<Verb>,
    /// The name of the metric.
    metric: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    /// Numbers, in nested objects.
    values: Option<Box<RawValue>>,
    /// Numbers by their paths, as an alternative.
    paths: Option<Box<RawValue>>,
    /// The time, in the formats of [`Calendar::read_time`].
    at: Option<String>,
    #[serde(default)]
    untracked: bool,
    /// Classes of a histogram.
    classes: Option<Box<RawValue>>,
    /// The name of the request, if the write is the whole request.
    pub id: Option<String>,
}

/// The formats of classes.
const CLASSES: &str = r#"write {"linear":[SMALLEST,LARGEST,WIDTH]} with a whole number from 1 as width, {"geometric":[SMALLEST,LARGEST]}, or {"custom":[BOUND,...]}"#;

impl JsonWrite {
    /// Converts it to a write; without a time it gets `now`.
    ///
    /// # Errors
    /// If the input cannot be parsed, or is not meaningful.
    pub fn write(self, action: Verb, calendar: &Calendar, now: Timestamp) -> Result<Write> {
        let at = match self.at.as_deref() {
            None | Some("now") => now,
            Some(text) => calendar.read_time(text)?,
        };
        let values = self.values()?;
        let mut metric = Metric::new(self.metric);
        metric.labels = self.labels;
        if self.classes.is_some() && action != Verb::Assort {
            return Err(Error::argument("classes are for assort only"));
        }
        let write = match (action, &self.classes) {
            (Verb::Track, _) => Write::track(metric, at, values),
            (Verb::Assert, _) => Write::assert(metric, at, values),
            (Verb::Observe, _) => Write::observe(metric, at, values),
            (Verb::Assort, Some(classes)) => {
                let classes = designator(classes).map_err(|error| error.at("classes"))?;
                Write::assort(metric, at, &values, &classes)?
            }
            (Verb::Assort, None) => {
                return Err(Error::argument(
                    r#"assort needs classes, such as {"linear":[0,100,10]}"#,
                ));
            }
        };
        Ok(match self.untracked {
            true => write.untracked(),
            false => write,
        })
    }

    fn values(&self) -> Result<PathValues> {
        match (&self.values, &self.paths) {
            (Some(nested), None) => {
                let values = NestedValues::from_json(nested.get()).and_then(|values| values.pack());
                values.map_err(|error| error.at("values"))
            }
            (None, Some(flat)) => {
                let values =
                    NestedValues::from_json(flat.get()).and_then(|values| values.pack_paths());
                values.map_err(|error| error.at("paths"))
            }
            _ => Err(Error::argument(
                r#"the numbers are in "values" ({"a":{"b":1}}) or in "paths" ({"a.b":1}): give one of them"#,
            )),
        }
    }
}

fn number(text: &RawValue) -> Result<Number> {
    text.get().parse()
}

fn designator(classes: &RawValue) -> Result<Designator> {
    let unclear = || Error::syntax(CLASSES);
    let classes: BTreeMap<String, Vec<Box<RawValue>>> =
        serde_json::from_str(classes.get()).map_err(|_| unclear())?;
    let mut classes = classes.iter();
    let (Some((name, bounds)), None) = (classes.next(), classes.next()) else {
        return Err(unclear());
    };
    match (name.as_str(), bounds.as_slice()) {
        ("linear", [min, max, width]) => {
            let width = width.get().parse().map_err(|_| unclear())?;
            Designator::linear(number(min)?, number(max)?, width)
        }
        ("geometric", [min, max]) => Designator::geometric(number(min)?, number(max)?),
        ("custom", bounds) => {
            let bounds = bounds.iter().map(|bound| number(bound));
            Designator::custom(bounds.collect::<Result<_>>()?)
        }
        _ => Err(unclear()),
    }
}
