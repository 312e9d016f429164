//! `cargo xtask tidy`: checks of architecture and style.

mod tidy;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask tidy\n\n  \
    tidy   checks crate edges, import circles, file and function length, banned calls, names and the layout of modules";

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => run_tidy(),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn run_tidy() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is in the workspace");
    let report = match tidy::check(root) {
        Ok(report) => report,
        Err(error) => {
            eprintln!("tidy: {error}");
            return ExitCode::from(2);
        }
    };
    for problem in &report.problems {
        println!("{problem}");
    }
    println!(
        "tidy: {} files, {} functions (median {} lines), {} problems",
        report.files,
        report.function_lines.len(),
        report.median_function_lines(),
        report.problems.len()
    );
    if report.problems.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
