//! Arguments that select a range of buckets.

use std::time::Duration;

use clap::Args;
use espalier_stats::{Granularity, Range, Stats, Timestamp};

use super::arguments::{time, usage};
use crate::times;
use espalier_terminal::{Failure, Result};

/// A range of buckets.
#[derive(Args, Clone, Debug)]
pub struct RangeArguments {
    /// The length of the buckets, as in `15m`, `1h`, `1d`, `1mo`
    #[arg(long, short, value_name = "LENGTH", default_value = "1h")]
    granularity: String,

    /// The time of the first bucket [default: --last before --to]
    #[arg(long, value_name = "TIME", conflicts_with = "last")]
    from: Option<String>,

    /// The time of the last bucket [default: now]
    #[arg(long, value_name = "TIME")]
    to: Option<String>,

    /// The length of the range before --to, as in 90m or 30d
    #[arg(long, value_name = "SPAN", default_value = "24h")]
    last: String,

    /// Omit buckets without values
    #[arg(long)]
    skip_blanks: bool,
}

impl RangeArguments {
    /// The range.
    pub fn range(&self, stats: &Stats) -> Result<Range> {
        let granularity: Granularity = self.granularity.parse().map_err(usage)?;
        if !stats.settings().granularities.contains(&granularity) {
            let granularities = stats.settings().granularities;
            let granularities: Vec<_> = granularities.iter().map(ToString::to_string).collect();
            let message = format!("nothing is written at the granularity {granularity}");
            return Err(
                Failure::usage(message).hint(format!("there are {}", granularities.join(" ")))
            );
        }
        // The current time is read once: otherwise a range from now could begin after its end.
        let to = time(stats, self.to.as_deref())?;
        let from = match self.from.as_deref() {
            Some("now") if matches!(self.to.as_deref(), None | Some("now")) => to,
            Some(from) => time(stats, Some(from))?,
            None => before(to, times::parse_duration(&self.last)?)?,
        };
        let range = Range::new(granularity, from, to);
        Ok(if self.skip_blanks {
            range.skip_blanks()
        } else {
            range
        })
    }
}

fn before(to: Timestamp, span: Duration) -> Result<Timestamp> {
    let seconds = i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
    let from = to.as_second().saturating_sub(seconds);
    Timestamp::from_second(from).map_err(|_| Failure::usage("the range begins before all time"))
}
