//! CSV output: a line for each point, a column for each path.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::{Calendar, Path, Point};

/// Points as CSV: `at` and the paths in the first line; absent values are empty.
pub fn csv(points: &[Point], calendar: &Calendar) -> String {
    let paths: BTreeSet<&Path> = points
        .iter()
        .flat_map(|point| point.values.iter().map(|(path, _)| path))
        .collect();
    let mut text = String::from("at");
    for path in &paths {
        text.push(',');
        text.push_str(&quoted(path.as_str()));
    }
    text.push_str("\r\n");
    for point in points {
        text.push_str(&calendar.show_time(point.at));
        for path in &paths {
            text.push(',');
            if let Some(number) = point.values.get(path) {
                text.push_str(&number.to_string());
            }
        }
        text.push_str("\r\n");
    }
    text
}

fn quoted(text: &str) -> Cow<'_, str> {
    if text.contains(['"', ',', '\r', '\n']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}
