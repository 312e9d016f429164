//! A plot of one row: the cost of an operation against the size, both logarithmic.

use std::collections::{BTreeMap, HashSet};

use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::row::Row;
use espalier_terminal::{Failure, Result};

/// The width of the picture in its own coordinates; it scales to the available width.
const WIDTH: u32 = 460;

/// The height without the legend.
const PLOT_HEIGHT: u32 = 250;

/// The height of a line of the legend.
const LEGEND_LINE: i32 = 14;

/// The x coordinates of the columns of the legend.
const LEGEND_COLUMNS: [i32; 2] = [20, 245];

/// Colours that can be distinguished on white and on black, also by colour-blind readers.
const COLOURS: [RGBColor; 9] = [
    RGBColor(0x33, 0x77, 0xbb),
    RGBColor(0xee, 0x77, 0x33),
    RGBColor(0x11, 0x99, 0x77),
    RGBColor(0xcc, 0x33, 0x77),
    RGBColor(0x99, 0x77, 0xcc),
    RGBColor(0xaa, 0x88, 0x22),
    RGBColor(0x77, 0x77, 0x77),
    RGBColor(0xdd, 0x44, 0x44),
    RGBColor(0x33, 0xaa, 0xcc),
];

/// The placeholder for the text colour of the page, which is dark or light.
const TEXT: RGBColor = RGBColor(1, 2, 3);

/// The placeholder as it appears in the SVG.
const TEXT_COLOUR_IN_SVG: &str = "#010203";

/// One line of the plot.
struct Line {
    name: String,
    /// The driver, which determines the colour if there are more lines than colours.
    group: String,
    points: Vec<(f64, f64)>,
    /// Another system's figures: dashed.
    is_peer: bool,
    /// Relaxed commits: a thin line.
    is_thin: bool,
    /// A policy that caches in memory: hollow points.
    is_hollow: bool,
}

impl Line {
    fn of(row: &Row) -> Self {
        Self {
            name: row.engine(),
            group: row.driver.clone(),
            points: Vec::new(),
            is_peer: false,
            is_thin: row.durability == "relaxed",
            is_hollow: !["uncached", "ram"].contains(&row.policy.as_ref()),
        }
    }

    fn of_peer(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            group: name.to_owned(),
            points: Vec::new(),
            is_peer: true,
            is_thin: false,
            is_hollow: false,
        }
    }
}

/// The plot of the rows of one name, as SVG; `None` if there are fewer than two sizes.
pub fn svg(rows: &[&Row]) -> Result<Option<String>> {
    let lines = lines(rows);
    let points = || lines.iter().flat_map(|line| &line.points);
    let bounds = |of: fn(&(f64, f64)) -> f64| {
        points()
            .map(of)
            .fold((f64::INFINITY, 0.0_f64), |(low, high), at| {
                (low.min(at), high.max(at))
            })
    };
    let (sizes, seconds) = (bounds(|point| point.0), bounds(|point| point.1));
    if sizes.0 >= sizes.1 {
        return Ok(None);
    }
    let height = PLOT_HEIGHT + legend(lines.len()) as u32;
    let mut picture = String::new();
    draw(&mut picture, height, &lines, sizes, seconds)
        .map_err(|error| Failure::data(format!("the plot was not drawn: {error}")))?;
    Ok(Some(finished(&picture, height)))
}

/// Removes the fixed size, and replaces the placeholder by the text colour of the page.
fn finished(picture: &str, height: u32) -> String {
    let size = format!("width=\"{WIDTH}\" height=\"{height}\" ");
    without_duplicate_texts(picture)
        .replacen(&size, "", 1)
        .replace(TEXT_COLOUR_IN_SVG, "currentColor")
}

/// Removes duplicate labels: the last label of a logarithmic axis is drawn twice, and looks bold.
fn without_duplicate_texts(picture: &str) -> String {
    let mut drawn = HashSet::new();
    let mut once = String::with_capacity(picture.len());
    for part in picture.split_inclusive("</text>") {
        let (before, text) = part.split_at(part.find("<text").unwrap_or(part.len()));
        once.push_str(before);
        if text.is_empty() || drawn.insert(text) {
            once.push_str(text);
        }
    }
    once
}

fn lines(rows: &[&Row]) -> Vec<Line> {
    let mut ours: BTreeMap<String, Line> = BTreeMap::new();
    let mut theirs: BTreeMap<String, Line> = BTreeMap::new();
    for row in rows {
        let size = row.size as f64;
        if let Some(median) = row.median_s.filter(|median| *median > 0.0) {
            let line = ours.entry(row.engine()).or_insert_with(|| Line::of(row));
            line.points.push((size, median));
        }
        for peer in row.peer.iter().filter(|peer| peer.seconds > 0.0) {
            let line = theirs.entry(peer.name.clone());
            let line = line.or_insert_with(|| Line::of_peer(&peer.name));
            if !line.points.iter().any(|point| point.0 == size) {
                line.points.push((size, peer.seconds));
            }
        }
    }
    let mut lines: Vec<Line> = ours.into_values().chain(theirs.into_values()).collect();
    for line in &mut lines {
        line.points.sort_by(|one, other| one.0.total_cmp(&other.0));
    }
    lines
}

/// The colour of each line: an own one, or that of its driver if there are more lines than colours.
fn colours(lines: &[Line]) -> Vec<RGBColor> {
    let mut groups: Vec<&str> = Vec::new();
    let is_own = lines.len() <= COLOURS.len();
    let of = lines.iter().map(|line| {
        let group = if is_own { &line.name } else { &line.group };
        let position = groups.iter().position(|other| other == group);
        let at = position.unwrap_or_else(|| {
            groups.push(group);
            groups.len() - 1
        });
        COLOURS[at % COLOURS.len()]
    });
    of.collect()
}

type Drawn = std::result::Result<(), Box<dyn std::error::Error>>;

/// The height of the legend for a number of lines.
fn legend(lines: usize) -> i32 {
    LEGEND_LINE * lines.div_ceil(LEGEND_COLUMNS.len()) as i32
}

fn draw(
    picture: &mut String,
    height: u32,
    lines: &[Line],
    sizes: (f64, f64),
    seconds: (f64, f64),
) -> Drawn {
    let area = SVGBackend::with_string(picture, (WIDTH, height)).into_drawing_area();
    let legend = legend(lines.len());
    let text = |size: i32| ("sans-serif", size).into_font().color(&TEXT);
    let mut chart = ChartBuilder::on(&area)
        .margin_top(8)
        .margin_right(18)
        .margin_bottom(legend + 6)
        .x_label_area_size(36)
        .y_label_area_size(68)
        .build_cartesian_2d(
            (sizes.0..sizes.1).log_scale(),
            // The margin: a label at the very end of an axis is lost if its number is rounded.
            (decade(seconds.0, f64::floor) * (1.0 - AXIS_MARGIN)
                ..decade(seconds.1, f64::ceil) * (1.0 + AXIS_MARGIN))
                .log_scale(),
        )?;
    chart
        .configure_mesh()
        .bold_line_style(TEXT.mix(0.15))
        .light_line_style(TRANSPARENT)
        .axis_style(TEXT.mix(0.5))
        .label_style(text(11))
        .axis_desc_style(text(12))
        .x_desc("size")
        .y_desc("median of one operation")
        .x_label_formatter(&|size| labelled(*size, &[1, 2, 5], count))
        .y_label_formatter(&|seconds| labelled(*seconds, &[1], unit))
        .draw()?;
    for (index, (line, colour)) in lines.iter().zip(colours(lines)).enumerate() {
        let stroke = colour.stroke_width(if line.is_thin { 1 } else { 2 });
        let point = |at| Circle::new(at, 2.5, dot(line, colour));
        let points = line.points.iter().copied();
        match line.is_peer {
            true => chart.draw_series(DashedLineSeries::new(points.clone(), 5, 4, stroke))?,
            false => chart.draw_series(LineSeries::new(points.clone(), stroke))?,
        };
        chart.draw_series(points.map(point))?;
        let (line_number, column) = (index / LEGEND_COLUMNS.len(), index % LEGEND_COLUMNS.len());
        let y = height as i32 - legend + LEGEND_LINE * line_number as i32 + 4;
        let x = LEGEND_COLUMNS[column];
        let mark = [(x, y), (x + 24, y)];
        match line.is_peer {
            true => area.draw(&DashedPathElement::new(mark, 5, 4, stroke))?,
            false => area.draw(&PathElement::new(mark, stroke))?,
        }
        area.draw(&Circle::new((x + 12, y), 2.5, dot(line, colour)))?;
        let style = text(11).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(line.name.clone(), (x + 30, y), style))?;
    }
    area.present()?;
    Ok(())
}

/// The style of the points of a line.
fn dot(line: &Line, colour: RGBColor) -> ShapeStyle {
    match line.is_hollow {
        true => colour.stroke_width(1),
        false => colour.filled(),
    }
}

/// The relative margin at the ends of an axis.
const AXIS_MARGIN: f64 = 1e-9;

/// The power of ten below or above a number, by `round`.
fn decade(number: f64, round: fn(f64) -> f64) -> f64 {
    // A power of ten stays, despite rounding errors.
    let exponent = number.log10();
    let near = exponent.round();
    let exponent = match (exponent - near).abs() < 1e-9 {
        true => near,
        false => round(exponent),
    };
    10.0_f64.powf(exponent)
}

/// The label of a number that begins with one of these digits; others have none, as labels would overlap.
fn labelled(number: f64, digits: &[u32], label: fn(f64) -> String) -> String {
    let digit = number / decade(number, f64::floor);
    let is_labelled = digits
        .iter()
        .any(|&first| (digit - f64::from(first)).abs() < 1e-6);
    match is_labelled {
        true => label(number),
        false => String::new(),
    }
}

/// A power of ten of seconds, with its unit.
fn unit(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 0.9e-6 => format!("{:.0} ns", seconds * 1e9),
        seconds if seconds < 0.9e-3 => format!("{:.0} us", seconds * 1e6),
        seconds if seconds < 0.9 => format!("{:.0} ms", seconds * 1e3),
        seconds => format!("{seconds:.0} s"),
    }
}

/// A number with a unit of thousands.
fn count(number: f64) -> String {
    match number {
        number if number >= 1e6 => format!("{}M", number / 1e6),
        number if number >= 1e3 => format!("{}k", number / 1e3),
        number => format!("{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Peer;

    fn row(size: u64, median: f64) -> Row {
        let mut row = Row::example("scale", "get", "embedded", size, median);
        row.peer.push(Peer {
            name: "another <one>".to_owned(),
            seconds: median * 10.0,
            source: "nowhere".to_owned(),
        });
        row
    }

    #[test]
    fn labels_are_at_powers_of_ten() {
        let labels: Vec<_> = [1e-7, 2e-7, 1e-6, 9e-6, 1e-3, 1.0]
            .map(|at| labelled(at, &[1], unit))
            .into();
        assert_eq!(labels, ["100 ns", "", "1 us", "", "1 ms", "1 s"]);
        assert_eq!(labelled(500_000.0, &[1, 2, 5], count), "500k");
        assert_eq!(
            (decade(3e-5, f64::floor), decade(1e-3, f64::ceil)),
            (1e-5, 1e-3)
        );
    }

    #[test]
    fn a_plot_has_a_line_for_each_engine_and_peer_and_names_its_axes() {
        let rows = [row(1_000, 1.1e-6), row(1_000_000, 2e-6)];
        let rows: Vec<_> = rows.iter().collect();
        let picture = svg(&rows).expect("drawn").expect("two sizes");
        for part in [
            "embedded relaxed",
            "another &lt;one&gt;",
            "size",
            "median of one operation",
            "currentColor",
        ] {
            assert!(picture.contains(part), "{part}: {picture}");
        }
        assert!(!picture.contains(TEXT_COLOUR_IN_SVG));
        let labels = picture.split("<text").skip(1);
        let labels: Vec<_> = labels.filter(|label| label.contains("\n1M\n")).collect();
        assert_eq!(labels.len(), 1, "a label is drawn once: {picture}");
        for end in ["\n1 us\n", "\n10 us\n"] {
            assert_eq!(picture.matches(end).count(), 1, "{end}: {picture}");
        }
        assert_eq!(svg(&rows[..1]).expect("nothing drawn"), None);
    }
}
