//! The common part of `copy`, `backup` and `restore`: progress, report and failures.

use std::sync::Arc;

use espalier_keyspace::Driver;
use espalier_store::{Error, ExistingRows, Phase, TransferReport};
use serde_json::json;

use crate::endpoint::store_on;
use espalier_terminal::output;
use espalier_terminal::progress::Progress;
use espalier_terminal::{Failure, Result};

/// Progress of a transfer, a bar for each of its phases.
pub struct PhaseProgress {
    phase: Phase,
    total: Option<u64>,
    progress: Progress,
}

impl PhaseProgress {
    /// Creates the progress of a transfer, of `total` rows if known.
    pub fn new(label: &'static str, total: Option<u64>) -> Self {
        Self {
            phase: Phase::Copying,
            total,
            progress: Progress::count_of(label, total),
        }
    }

    /// Sets the number of finished rows of a phase.
    pub fn update(&mut self, phase: Phase, rows: u64) {
        if phase != self.phase {
            self.phase = phase;
            let label = match phase {
                Phase::Copying => "writing",
                Phase::Checking => "checking",
                Phase::Verifying => "comparing",
            };
            self.progress = Progress::count_of(label, self.total);
        }
        self.progress.set(rows);
    }

    /// Removes the bar.
    pub fn finish(self) {
        self.progress.finish();
    }
}

/// What happens to the existing rows of the target.
pub fn existing_rows(force: bool) -> ExistingRows {
    if force {
        ExistingRows::Delete
    } else {
        ExistingRows::Reject
    }
}

/// Prints the report of a transfer, or returns its failure with a hint. Opens the store on the target, so that the
/// tables for queries are filled.
pub fn print_report(
    json: bool,
    done: &str,
    to: Arc<dyn Driver>,
    transferred: espalier_store::Result<TransferReport>,
) -> Result<()> {
    let transferred = transferred.map_err(failure)?;
    store_on(to).map_err(|failure| {
        failure.hint(format!(
            "all rows are {done}; what people read of them is not shown yet, but will be where the store is opened"
        ))
    })?;
    let digest = transferred.digest;
    let value = json!({
        "rows": digest.rows,
        "bytes": digest.bytes,
        "digest": digest.hex(),
        "changed": transferred.changed,
        "resumed": transferred.is_resumed,
    });
    let mut text = format!(
        "{done} {} rows ({} bytes), compared",
        digest.rows, digest.bytes
    );
    if transferred.is_resumed {
        text.push_str(&format!(
            "; went on with an interrupted run: {} rows were written now",
            transferred.changed
        ));
    }
    output::print_result(json, &value, &text)
}

/// The failure of a transfer, with a hint.
pub fn failure(error: Error) -> Failure {
    let hint = match &error {
        Error::NotEmpty => "choose another target, or delete its contents with --force",
        Error::Unfinished { .. } => {
            "call that transfer again to go on with it, or delete what is there with --force"
        }
        Error::Interfered | Error::Differs { .. } => {
            "see that nothing else writes to the target, and call it again"
        }
        _ => return error.into(),
    };
    Failure::from(error).hint(hint)
}
