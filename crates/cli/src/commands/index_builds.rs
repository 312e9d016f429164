//! Resumes index builds of collections that were interrupted, by a kill or a lost engine, while `serve` runs.

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use espalier_documents::{Documents, ErrorKind, Policy, Result};

/// A build without progress for this long counts as interrupted. A running build, in this or another process, commits
/// many steps a second; it is left to its own caller, which needs the error if documents violate the index.
const STALLED_AFTER: Duration = Duration::from_secs(5);

/// The pause after a build that failed.
const RETRY_PAUSE: Duration = Duration::from_secs(60);

/// The collections with indexes that are not built, and the progress of each.
type Progress = HashMap<String, Vec<(String, u64)>>;

/// Starts a thread that resumes interrupted builds until the process ends. A metric has the number of unbuilt
/// collections.
pub fn resume_index_builds(documents: Documents) {
    thread::spawn(move || {
        let mut before = Progress::new();
        loop {
            match resume_stalled(&documents, &before) {
                Ok(now) => {
                    before = now;
                    thread::sleep(STALLED_AFTER);
                }
                Err(error) => {
                    tracing::error!(%error, "an index build that was cut off is not gone on with");
                    thread::sleep(RETRY_PAUSE);
                }
            }
        }
    });
}

/// Completes the builds that made no progress since `before`; returns the progress of the others.
fn resume_stalled(documents: &Documents, before: &Progress) -> Result<Progress> {
    let count = metrics::gauge!("espalier_documents_unbuilt_collections");
    let mut now = Progress::new();
    for name in documents.unbuilt()? {
        let built = documents
            .open(&name, Some(Policy::Uncached))
            .and_then(|collection| {
                let (_, progress) = collection.progress()?;
                if before.get(&name) != Some(&progress) {
                    return Ok(Some(progress));
                }
                count.set(1.0);
                tracing::info!(collection = name, "an interrupted index build continues");
                collection.build()?;
                tracing::info!(collection = name, "the indexes are built");
                Ok(None)
            });
        match built {
            Ok(None) => {}
            Ok(Some(progress)) => drop(now.insert(name, progress)),
            // The collection was removed meanwhile.
            Err(error) if error.kind() == ErrorKind::Missing => {}
            Err(error) => return Err(error),
        }
    }
    count.set(now.len() as f64);
    Ok(now)
}
