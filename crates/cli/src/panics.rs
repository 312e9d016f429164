//! Reports of panics: as other errors, without passwords and control characters.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, Write};
use std::panic::{self, PanicHookInfo};

use espalier_terminal::output;

/// Installs the panic hook for all threads.
pub fn report() {
    panic::set_hook(Box::new(|panic| {
        // A failed write to standard error cannot be reported.
        let _ = writeln!(
            io::stderr().lock(),
            "{}",
            text(panic, &Backtrace::capture())
        );
    }));
}

fn text(panic: &PanicHookInfo<'_>, trace: &Backtrace) -> String {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("unnamed");
    let message = format!("thread '{name}' {panic}");
    let message = output::escaped_lines(&espalier_drivers::redacted(&message));
    let trace = match trace.status() {
        BacktraceStatus::Captured => output::escaped_lines(&trace.to_string()),
        _ => "  RUST_BACKTRACE=1 in the environment shows the calls that led here".to_owned(),
    };
    format!(
        "{message}\n  this is a mistake in Espalier; nothing that was acknowledged is lost\n{trace}"
    )
}
