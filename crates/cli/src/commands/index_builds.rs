//! What `serve` does for collections whose indexes are not built: builds that were cut off, by a kill or
//! a lost engine, are gone on with.

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use espalier_documents::{Documents, ErrorKind, Policy, Result};

/// How long a build has to stand still to be taken for one that was cut off. One that is under way, here
/// or in another process, commits many steps a second; it is left to whoever waits for it, who is to be
/// told where the documents refuse the index.
const STALLED_AFTER: Duration = Duration::from_secs(5);

/// The rest after a build that failed.
const RETRY_PAUSE: Duration = Duration::from_secs(60);

/// The collections with indexes that are not built, and how far each is.
type Progress = HashMap<String, Vec<(String, u64)>>;

/// Goes on with builds that were cut off, as long as the process lives; how many collections are to be
/// built is in the metrics.
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

/// Builds what is not built and stands where it was before; tells how far the others are.
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
                tracing::info!(collection = name, "an index build that was cut off goes on");
                collection.build()?;
                tracing::info!(collection = name, "the indexes are built");
                Ok(None)
            });
        match built {
            Ok(None) => {}
            Ok(Some(progress)) => drop(now.insert(name, progress)),
            // Removed meanwhile.
            Err(error) if error.kind() == ErrorKind::Missing => {}
            Err(error) => return Err(error),
        }
    }
    count.set(now.len() as f64);
    Ok(now)
}
