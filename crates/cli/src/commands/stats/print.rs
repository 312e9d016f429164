//! Output of the commands, as text or JSON.

use std::fmt::Display;
use std::io::Write;

use espalier_stats::{Calendar, Number, Path, Point};
use serde::Serialize;

use espalier_terminal::output::{self, Form, escaped};
use espalier_terminal::{Failure, Result};

/// The heights of a sparkline.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Columns of a sparkline: one for each value where there is room, else the sum of several.
const COLUMNS_MAX: usize = 60;

/// Prints a line.
pub fn line(text: impl Display) -> Result<()> {
    let text = text.to_string();
    writeln!(output::stdout(Form::Text), "{}", escaped(&text))?;
    Ok(())
}

/// Prints text of several lines.
pub fn text(text: &str) -> Result<()> {
    output::stdout(Form::Text).write_all(text.as_bytes())?;
    Ok(())
}

/// Prints a value as JSON, numbers digit by digit.
pub fn json(value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(value).map_err(|error| Failure::data(error.to_string()))?;
    json_text(&text)
}

/// Prints JSON as it is.
pub fn json_text(text: &str) -> Result<()> {
    Ok(writeln!(output::stdout(Form::Json), "{text}")?)
}

/// Points in columns: times, and a column for each path.
pub fn table(points: &[Point], calendar: &Calendar) -> String {
    let mut paths: Vec<&Path> = points
        .iter()
        .flat_map(|point| point.values.iter().map(|(path, _)| path))
        .collect();
    paths.sort();
    paths.dedup();
    let head = std::iter::once("at".to_owned()).chain(paths.iter().map(ToString::to_string));
    let mut rows: Vec<Vec<String>> = vec![head.collect()];
    for point in points {
        let values = paths.iter().map(|path| point.values.get(path));
        let values = values.map(|value| value.map_or_else(String::new, |value| value.to_string()));
        rows.push(
            std::iter::once(calendar.show_time(point.at))
                .chain(values)
                .collect(),
        );
    }
    aligned(&rows)
}

/// Rows in columns, all but the first to the right.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let shown = |row: &Vec<String>| row.iter().map(|cell| escaped(cell).into_owned()).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(shown).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, &width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Values as bars; a blank where there is none.
pub fn sparkline(values: &[Option<Number>]) -> String {
    let step = values.len().div_ceil(COLUMNS_MAX).max(1);
    let sum = |part: &[Option<Number>]| {
        let numbers = part.iter().flatten().map(|number| number.to_f64());
        numbers.reduce(|left, right| left + right)
    };
    let columns: Vec<_> = values.chunks(step).map(sum).collect();
    let shown = columns.iter().flatten();
    let least = shown
        .clone()
        .fold(0.0_f64, |least, &value| least.min(value));
    let most = shown.fold(0.0_f64, |most, &value| most.max(value));
    let bar = |value: &Option<f64>| match value {
        None => ' ',
        Some(_) if most <= least => BARS[0],
        Some(value) => {
            let part = (value - least) / (most - least);
            BARS[((part * 7.0).round() as usize).min(7)]
        }
    };
    columns.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparklines_begin_at_zero_and_leave_blanks() {
        let numbers = |values: &[i64]| {
            values
                .iter()
                .map(|&value| Some(Number::from(value)))
                .collect::<Vec<_>>()
        };
        assert_eq!(sparkline(&numbers(&[0, 1, 2, 3, 4, 5, 6, 7])), "▁▂▃▄▅▆▇█");
        assert_eq!(sparkline(&numbers(&[7, 7])), "██");
        assert_eq!(sparkline(&numbers(&[0, 0])), "▁▁");
        assert_eq!(sparkline(&numbers(&[-7, 0])), "▁█");
        assert_eq!(sparkline(&[None, Some(Number::ONE)]), " █");
        assert_eq!(sparkline(&[]), "");
        assert_eq!(sparkline(&numbers(&[1; 1000])).chars().count(), 59);
    }

    #[test]
    fn columns_fit_their_widest_cell() {
        let rows = [
            vec!["at".into(), "n".into()],
            vec!["x".into(), "1000".into()],
        ];
        assert_eq!(aligned(&rows), "at     n\nx   1000\n");
    }
}
