//! Counts in time buckets, read as a series.
//!
//! $ cargo run -p espalier --example statistics

use espalier::stats::{
    Aggregate, Granularity, Path, PathValues, Pattern, Range, Request, Timestamp, Unit, Write,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = espalier::open("memory:")?;
    let stats = espalier::statistics(&store)?;
    let noon: Timestamp = "2026-11-27T12:00:00Z".parse()?;
    let minute = |count: i64| Timestamp::from_second(noon.as_second() + 60 * count);

    // One write adds to the buckets of every granularity: the minute, the hour, the day, ...
    for (at, status, count) in [(0, "200", 3), (0, "404", 1), (1, "200", 2), (90, "200", 5)] {
        let path = Path::parse(&format!("status.{status}"))?;
        stats.track("requests", minute(at)?, PathValues::one(path, count.into()))?;
    }

    // A request has many writes: one commit.
    let writes = (2..6).map(|at| {
        let path = Path::parse("status.200")?;
        Ok(Write::track(
            "requests",
            minute(at)?,
            PathValues::one(path, 1.into()),
        ))
    });
    let writes: Vec<_> = writes.collect::<Result<_, Box<dyn std::error::Error>>>()?;
    stats.submit(Request::new(writes))?;

    let hour = Granularity::new(1, Unit::Hour)?;
    let series = stats.series("requests", Range::new(hour, noon, minute(119)?))?;
    for point in series.points() {
        let values: Vec<_> = point
            .values
            .iter()
            .map(|(path, number)| format!("{path}={number}"))
            .collect();
        println!("{}: {}", point.at, values.join(" "));
    }
    let path = Path::parse("status.200")?;
    let sum = series.aggregate(Aggregate::Sum, &path, 1)?;
    println!(
        "sum of status 200: {}",
        sum[0].map(|sum| sum.to_string()).unwrap_or_default()
    );
    for (name, number) in series.top(&Pattern::parse("status.*")?, 1)? {
        println!("most frequent: {name}, {number} times");
    }
    Ok(())
}
