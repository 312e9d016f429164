//! `espalier delete`.

use clap::Args;
use espalier_yang::{InstancePath, Schema};

use crate::settings::{Access, Settings, Talk};
use crate::target::{self, Change};
use espalier_terminal::path;
use espalier_terminal::{Failure, Result};

/// Delete what is at a path, with all that is below it
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier delete '/ietf-interfaces:interfaces/interface=to-core-1/description' \\
      --store embedded:data
  espalier delete '/espalier-network:network/link=aggregation-1--core-1' \\
      --server http://127.0.0.1:8080
  espalier delete '/espalier-network:network/link' --store embedded:data    # every link")]
pub struct Delete {
    /// The path; a list without keys means all its entries
    path: String,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub talk: Talk,
}

impl Delete {
    /// Runs it.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let settings = Settings::from(&self.access).over(settings);
        let target = target::open(&settings)?;
        let path = self.parsed(&*target.schema()?);
        let path = path.map_err(|failure| target.refused(failure))?;
        let changed = target.change(Change::Delete(path))?;
        changed.answer(self.talk.json, "")
    }

    fn parsed(&self, schema: &Schema) -> Result<InstancePath> {
        let path = path::parse(schema, &self.path)?;
        if path.is_root() {
            return Err(Failure::usage("this would delete everything")
                .hint("load an empty document instead: echo '{}' | espalier load - --replace"));
        }
        Ok(path)
    }
}
