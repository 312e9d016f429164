//! `espalier stats track`, `assert`, `assort` and `observe`.

use std::io::{self, Read};

use clap::Args;
use espalier_stats::{
    Designator, Metric, NestedValues, Number, Outcome, Path, PathValues, Request, Timestamp, Write,
};
use serde_json::json;

use super::arguments::{MetricArguments, StoreOption, time, usage};
use crate::settings::Settings;
use espalier_terminal::document::STANDARD;
use espalier_terminal::output;
use espalier_terminal::{Failure, Result};

/// The maximum size of values on standard input: 16 MiB.
const INPUT_BYTES_MAX: u64 = 16 << 20;

/// What all that write have.
#[derive(Args, Debug)]
struct WriteArguments {
    #[command(flatten)]
    metric: MetricArguments,

    /// Values: `PATH=NUMBER` each, or one JSON object, or `-` for a JSON object on standard input
    #[arg(value_name = "VALUE", required = true)]
    values: Vec<String>,

    /// The time of the event [default: now]
    #[arg(long, value_name = "TIME")]
    at: Option<String>,

    /// Count it as untracked in the list of active metrics, without its name
    #[arg(long)]
    untracked: bool,

    /// A name for this request. A repetition of a request within a day changes nothing
    #[arg(long, value_name = "NAME")]
    request_id: Option<String>,
}

impl WriteArguments {
    fn values(&self) -> Result<PathValues> {
        if let [text] = self.values.as_slice() {
            if text == STANDARD {
                let mut input = String::new();
                let bytes = io::stdin()
                    .take(INPUT_BYTES_MAX + 1)
                    .read_to_string(&mut input)?;
                if bytes as u64 > INPUT_BYTES_MAX {
                    let message = format!("values of more than {INPUT_BYTES_MAX} bytes");
                    return Err(Failure::usage(message).hint("split them into several requests"));
                }
                return packed(&input);
            }
            if text.trim_start().starts_with('{') {
                return packed(text);
            }
        }
        let mut values = PathValues::new();
        for text in &self.values {
            let (path, number) = value(text)?;
            if values.get(&path).is_some() {
                return Err(Failure::usage(format!("{path} is given twice")));
            }
            values.set(path, number);
        }
        Ok(values)
    }

    /// Makes the write from the metric, the time and the values, and submits it.
    fn submit(
        &self,
        settings: Settings,
        store_option: &StoreOption,
        make: impl FnOnce(Metric, Timestamp, PathValues) -> Result<Write>,
    ) -> Result<()> {
        let stats = store_option.stats(settings)?;
        let at = time(&stats, self.at.as_deref())?;
        let mut write = make(self.metric.metric()?, at, self.values()?)?;
        if self.untracked {
            write = write.untracked();
        }
        let mut request = Request::from(write);
        if let Some(id) = &self.request_id {
            request = request.with_id(id);
        }
        let (outcome, text) = match stats.submit(request)? {
            // A single write cannot be done in part.
            Outcome::Done | Outcome::DoneInPart { .. } => ("done", ""),
            Outcome::Repeated => ("repeated", "a request of this name was done before"),
            Outcome::TooOld => (
                "too-old",
                "nothing is kept: that is longer ago than all the retentions of the store",
            ),
        };
        output::print_result(
            store_option.output_options.json,
            &json!({ "outcome": outcome }),
            text,
        )
    }
}

fn packed(text: &str) -> Result<PathValues> {
    let packed = NestedValues::from_json(text).and_then(|nested| nested.pack());
    packed.map_err(|error| Failure::usage(format!("the values: {error}")))
}

fn value(text: &str) -> Result<(Path, Number)> {
    let (path, number) = text
        .rsplit_once('=')
        .ok_or_else(|| Failure::usage(format!("{text:?} is no value; write PATH=NUMBER")))?;
    let of_path = |error| Failure::usage(format!("{path}: {error}"));
    Ok((
        path.parse().map_err(usage)?,
        number.parse().map_err(of_path)?,
    ))
}

/// Add to the stored values
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier stats track event::signup count=1 plan.pro=1 --store embedded:counts
  espalier stats track event::order '{\"count\":1,\"amount\":19.90}' --label shop=north \\
      --store embedded:counts
  espalier stats track event::signup count=1 --at 2025-03-05T12:00 --request-id 7f3a \\
      --store embedded:counts")]
pub struct Track {
    #[command(flatten)]
    write_arguments: WriteArguments,

    #[command(flatten)]
    pub store_option: StoreOption,
}

impl Track {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        self.write_arguments
            .submit(settings, &self.store_option, |metric, at, values| {
                Ok(Write::track(metric, at, values))
            })
    }
}

/// Set values; others stay
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier stats assert stock::bolts count=1200 --store embedded:counts")]
pub struct Assert {
    #[command(flatten)]
    write_arguments: WriteArguments,

    #[command(flatten)]
    pub store_option: StoreOption,
}

impl Assert {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        self.write_arguments
            .submit(settings, &self.store_option, |metric, at, values| {
                Ok(Write::assert(metric, at, values))
            })
    }
}

/// Add values to sketches, for quantiles (`espalier stats series --quantiles`)
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier stats observe http::latency ms=12.5 --store embedded:counts")]
pub struct Observe {
    #[command(flatten)]
    write_arguments: WriteArguments,

    #[command(flatten)]
    pub store_option: StoreOption,
}

impl Observe {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        self.write_arguments
            .submit(settings, &self.store_option, |metric, at, values| {
                Ok(Write::observe(metric, at, values))
            })
    }
}

/// Count values by class: a histogram at each path
#[derive(Args, Debug)]
#[command(after_help = "\
A class is named by its upper bound: with --linear 0,100,10 the value 15 adds 1 to PATH.20.

Examples:
  espalier stats assort http::latency ms=15 --linear 0,100,10 --store embedded:counts
  espalier stats assort http::latency ms=15 --geometric 0,1000 --store embedded:counts
  espalier stats assort http::latency ms=15 --custom 1,10,20,50 --store embedded:counts")]
pub struct Assort {
    #[command(flatten)]
    write_arguments: WriteArguments,

    #[command(flatten)]
    classes: Classes,

    #[command(flatten)]
    pub store_option: StoreOption,
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct Classes {
    /// Classes of one width
    #[arg(long, value_name = "MIN,MAX,STEP", allow_hyphen_values = true)]
    linear: Option<String>,

    /// Classes that end with powers of ten
    #[arg(long, value_name = "MIN,MAX", allow_hyphen_values = true)]
    geometric: Option<String>,

    /// Classes that end with these bounds
    #[arg(long, value_name = "BOUND,...", allow_hyphen_values = true)]
    custom: Option<String>,
}

impl Classes {
    fn designator(&self) -> Result<Designator> {
        let made = match (&self.linear, &self.geometric, &self.custom) {
            (Some(linear), ..) => match numbers(linear)?.as_slice() {
                [min, max, step] => {
                    let step = step.to_string().parse();
                    let step = step.map_err(|_| {
                        Failure::usage("--linear takes MIN,MAX,STEP, STEP a whole number over 0")
                    })?;
                    Designator::linear(*min, *max, step)
                }
                _ => return Err(Failure::usage("--linear takes MIN,MAX,STEP")),
            },
            (_, Some(geometric), _) => match numbers(geometric)?.as_slice() {
                [min, max] => Designator::geometric(*min, *max),
                _ => return Err(Failure::usage("--geometric takes MIN,MAX")),
            },
            (.., custom) => Designator::custom(numbers(custom.as_deref().unwrap_or_default())?),
        };
        made.map_err(usage)
    }
}

fn numbers(text: &str) -> Result<Vec<Number>> {
    text.split(',')
        .map(|number| number.trim().parse().map_err(usage))
        .collect()
}

impl Assort {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let designator = self.classes.designator()?;
        self.write_arguments
            .submit(settings, &self.store_option, |metric, at, values| {
                Ok(Write::assort(metric, at, &values, &designator)?)
            })
    }
}
