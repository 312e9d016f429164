//! The HTML report: one self-contained page with a table and plots for each suite.

use std::fmt::Write;

use super::baseline::{Baseline, BaselineChange};
use super::page::{Finding, Page};
use super::plot;
use super::summary::{FACTORS, Summary, distinct, summaries};
use crate::output::{duration, megabytes};
use crate::row::Row;
use espalier_terminal::Result;

const STYLE: &str = "
:root{color-scheme:light dark;--line:#8884;--soft:#8882}
body{font:15px/1.45 system-ui,sans-serif;margin:0 auto;padding:1rem;max-width:90rem}
h1{font-size:1.5rem}h2{margin-top:2.5rem;border-bottom:1px solid var(--line)}
.plots{display:grid;gap:1rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,22rem),1fr))}
figure{margin:0;padding:.5rem;border:1px solid var(--line);border-radius:.5rem}
figcaption{font-weight:600;overflow-wrap:anywhere}svg{width:100%;height:auto;display:block}
.table{overflow-x:auto;margin-top:1rem}table{border-collapse:collapse;font-size:.85rem}
th,td{padding:.25rem .6rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--soft)}
th:first-child,td:first-child,.text{text-align:left}th:first-child,td:first-child{position:sticky;left:0;background:Canvas}td.note{white-space:normal;min-width:18rem;text-align:left}
details{margin:.4rem 0}summary{cursor:pointer}
.title{margin:1.5rem 0 0}.slower{color:#c22;font-weight:600}.faster{color:#184}
@media(prefers-color-scheme:dark){.slower{color:#f77}.faster{color:#6c9}}
";

impl Page<'_> {
    /// The report as a self-contained HTML page.
    pub fn html(&self) -> Result<String> {
        page(self.rows, &self.findings(), self.baseline, self.command)
    }
}

fn page(
    rows: &[Row],
    findings: &[Finding],
    baseline: Option<&Baseline>,
    command: &str,
) -> Result<String> {
    let mut page =
        String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">");
    page.push_str("<title>espalier bench</title><style>");
    page.push_str(STYLE);
    page.push_str("</style></head><body><h1>espalier bench</h1>");
    let version = env!("CARGO_PKG_VERSION");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // Writing to a string cannot fail.
    let _ = write!(
        page,
        "<p>Espalier {version}, {cores} cores. Produced by <code>{}</code>.</p>\
         <p>Seconds are per operation. <b>raw</b>: the raw engine doing the same reads and writes. \
         <b>peer</b>: another system's figure, measured on another machine or at another time: compare \
         orders of magnitude, and growth with size. Dashed lines are peers.</p>",
        escaped(command)
    );
    for finding in findings {
        let _ = write!(
            page,
            "<details><summary><b>{}</b>: {}</summary><ul>",
            finding.title,
            escaped(&finding.summary)
        );
        for (reason, whats) in &finding.exceptions {
            let _ = write!(page, "<li>{}:<ul>", escaped(reason));
            for what in whats {
                let _ = write!(page, "<li>{}</li>", escaped(what));
            }
            page.push_str("</ul></li>");
        }
        page.push_str("</ul></details>");
    }
    for suite in distinct(rows.iter().map(|row| row.suite.as_ref())) {
        let rows: Vec<_> = rows.iter().filter(|row| row.suite == suite).collect();
        section(&mut page, suite, &rows, baseline)?;
    }
    page.push_str("</body></html>\n");
    Ok(page)
}

fn section(
    page: &mut String,
    suite: &str,
    rows: &[&Row],
    baseline: Option<&Baseline>,
) -> Result<()> {
    let _ = write!(
        page,
        "<h2 id=\"{0}\">{0}</h2><div class=\"plots\">",
        escaped(suite)
    );
    for name in distinct(rows.iter().map(|row| row.row.as_str())) {
        let rows: Vec<_> = rows.iter().copied().filter(|row| row.row == name).collect();
        if let Some(picture) = plot::svg(&rows)? {
            let name = escaped(name);
            let _ = write!(
                page,
                "<figure><figcaption>{name}</figcaption>{picture}</figure>"
            );
        }
    }
    page.push_str("</div>");
    for table in summaries(rows) {
        summary(page, &table);
    }
    let open = if baseline.is_some() { " open" } else { "" };
    let _ = write!(
        page,
        "<details{open}><summary>Every row, with the raw engine, other systems and notes</summary>\
         <div class=\"table\"><table><thead><tr><th>row</th><th class=\"text\">engine</th><th>size</th>"
    );
    for name in [
        "n",
        "median",
        "min",
        "p99",
        "cpu",
        "peak memory",
        "raw",
        "x raw",
        "peer",
        "peer / ours",
    ] {
        let _ = write!(page, "<th>{name}</th>");
    }
    if baseline.is_some() {
        page.push_str("<th>against before</th>");
    }
    page.push_str("<th class=\"text\">note</th></tr></thead><tbody>");
    for row in rows {
        line(page, row, baseline);
    }
    page.push_str("</tbody></table></div></details>");
    Ok(())
}

fn summary(page: &mut String, table: &Summary) {
    let _ = write!(
        page,
        "<p class=\"title\">{}. {FACTORS}</p><div class=\"table\"><table><thead><tr><th>row</th>",
        escaped(&table.title)
    );
    for column in &table.columns {
        let _ = write!(page, "<th>{}</th>", escaped(column));
    }
    page.push_str("</tr></thead><tbody>");
    for (name, cells) in &table.lines {
        let _ = write!(page, "<tr><td>{}</td>", escaped(name));
        for cell in cells {
            let _ = write!(page, "<td>{}</td>", escaped(cell));
        }
        page.push_str("</tr>");
    }
    page.push_str("</tbody></table></div>");
}

fn line(page: &mut String, row: &Row, baseline: Option<&Baseline>) {
    let engine = row.engine();
    let _ = write!(
        page,
        "<tr><td>{}</td><td class=\"text\">{}</td><td>{}</td><td>{}</td>",
        escaped(&row.row),
        escaped(&engine),
        row.size,
        row.n
    );
    for seconds in [row.median_s, row.min_s, row.p99_s, row.cpu_s] {
        let _ = write!(page, "<td>{}</td>", duration(seconds));
    }
    let _ = write!(page, "<td>{}</td>", megabytes(row.peak_bytes));
    let _ = write!(page, "<td>{}</td>", duration(row.raw_s));
    let _ = write!(page, "<td>{}</td>", row.factor(row.median_s, row.raw_s));
    let peer = row.peer.first();
    let _ = match peer {
        Some(peer) => write!(
            page,
            "<td title=\"{}\">{} {}</td>",
            escaped(&peer.source),
            escaped(&peer.name),
            duration(Some(peer.seconds))
        ),
        None => write!(page, "<td>-</td>"),
    };
    let _ = write!(
        page,
        "<td>{}</td>",
        peer.map_or_else(|| "-".to_owned(), |peer| row.times(peer))
    );
    if let Some(baseline) = baseline {
        let cell = match baseline.compare(row) {
            Some(BaselineChange::Slower(factor)) => {
                format!("<td class=\"slower\">x{factor:.2} slower</td>")
            }
            Some(BaselineChange::Faster(factor)) => {
                format!("<td class=\"faster\">x{factor:.2} faster</td>")
            }
            Some(BaselineChange::Same(_)) => "<td>within noise</td>".to_owned(),
            None => "<td>-</td>".to_owned(),
        };
        page.push_str(&cell);
    }
    let _ = write!(page, "<td class=\"note\">{}</td></tr>", escaped(&row.note));
}

fn escaped(text: &str) -> String {
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    text.replace('"', "&quot;")
}
