//! The fixture: an open store with the data of one size.

use std::path::Path;
use std::sync::Arc;

use espalier_keyspace::Driver;
use espalier_store::{Datastore, LoadMode, LoadOptions, LoadReport, Store, SystemClock, Tree};
use espalier_yang::data::{ParseOptions, Root};

use crate::dataset::{self, Nodes};
use crate::recorder::Recorder;
use espalier_terminal::Result;
use espalier_terminal::document::{self, Format};

/// The suite's name in rows.
pub const SUITE: &str = "scale";

const NAME: &str = "bench";

/// The fixture: an open store with the data of one size.
pub struct Fixture {
    /// Records the reads and writes that reach the driver.
    pub recorder: Arc<Recorder>,
    /// The data.
    pub tree: Tree,
    /// The nodes of its model.
    pub nodes: Nodes,
}

impl Fixture {
    /// Opens the store at a URL; prepares a new one for the model of the bench.
    pub fn open(url: &str) -> Result<Self> {
        let driver = espalier_drivers::open(url)?;
        let recorder = Arc::new(Recorder::new(driver));
        let store = Store::open(
            Arc::clone(&recorder) as Arc<dyn Driver>,
            Arc::new(SystemClock),
        )?;
        if store.dataspaces()?.is_empty() {
            store.create_dataspace(NAME)?;
            store.create_schema_set(NAME, NAME, &dataset::source())?;
            store.create_anchor(NAME, NAME, NAME)?;
        }
        let tree = store.tree(NAME, NAME, Datastore::Running)?;
        let nodes = Nodes::of(tree.schema())?;
        Ok(Self {
            recorder,
            tree,
            nodes,
        })
    }

    /// Loads a file.
    pub fn load(&self, file: &Path) -> Result<LoadReport> {
        let name = file.display().to_string();
        let (mut input, _) = document::open(&name)?;
        let options = LoadOptions {
            mode: LoadMode::Create,
            author: NAME,
            ..LoadOptions::default()
        };
        let schema = Arc::clone(self.tree.schema());
        Ok(self.tree.load(options, &mut |sink| {
            let options = ParseOptions::default();
            document::parse(
                Format::Json,
                &schema,
                Root::Datastore,
                &mut input,
                sink,
                &options,
            )?;
            Ok(())
        })?)
    }
}
