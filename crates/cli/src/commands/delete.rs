//! `espalier delete`.

use clap::Args;
use espalier_yang::{InstancePath, Schema};

use crate::endpoint::{self, Change};
use crate::settings::{Access, OutputOptions, Settings};
use espalier_terminal::path;
use espalier_terminal::{Failure, Result};

/// Delete the node at a path, with everything below it
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
    pub output_options: OutputOptions,
}

impl Delete {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let settings = Settings::from(&self.access).over(settings);
        let endpoint = endpoint::open(&settings)?;
        let path = self.parsed(&*endpoint.schema()?);
        let path = path.map_err(|failure| endpoint.revert_modules(failure))?;
        let changed = endpoint.change(Change::Delete(path))?;
        changed.print(self.output_options.json, "")
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
