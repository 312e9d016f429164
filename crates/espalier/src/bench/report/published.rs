//! Tables in the layout that they were published in.

use std::fmt::Write;

use super::html::escaped;
use crate::bench::layout::Layout;
use crate::bench::row::Row;

/// The suites whose tables are of cost against size.
const SUITES: [&str; 2] = ["clixon", "cps"];

/// Adds the tables of a suite, one for each engine; none where it was published in another layout.
pub fn tables(page: &mut String, suite: &str, rows: &[&Row]) {
    if !SUITES.contains(&suite) {
        return;
    }
    for layout in Layout::of(rows.iter().copied()) {
        table(page, &layout);
    }
}

fn table(page: &mut String, layout: &Layout) {
    // Writing to a string cannot fail.
    let _ = write!(
        page,
        "<div class=\"table\"><table><thead><tr><th>{}; in brackets the factor to the first peer</th>",
        escaped(&layout.engine)
    );
    for size in &layout.sizes {
        let _ = write!(page, "<th>{size}</th>");
    }
    page.push_str("</tr></thead><tbody>");
    for (name, cells) in &layout.lines {
        let _ = write!(page, "<tr><td>{}</td>", escaped(name));
        for column in 0..layout.sizes.len() {
            let cell = cells.get(column).and_then(Option::as_ref);
            let cell = cell.map_or_else(|| "-".to_owned(), ToString::to_string);
            let _ = write!(page, "<td>{cell}</td>");
        }
        page.push_str("</tr>");
    }
    page.push_str("</tbody></table></div>");
}
