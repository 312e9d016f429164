//! `espalier set`.

use clap::Args;
use espalier_yang::Schema;
use espalier_yang::data::DataTree;

use crate::endpoint::{self, Change};
use crate::settings::{Access, OutputOptions, Settings};
use espalier_terminal::{Result, path, single_node};

/// Set a leaf, add a leaf-list entry, or create a container or list entry, with the nodes above it
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier set '/ietf-interfaces:interfaces/interface=to-core-1/description' 'uplink' \\
      --store embedded:data
  espalier set '/ietf-interfaces:interfaces/interface=to-core-1/enabled' false \\
      --server http://127.0.0.1:8080
  espalier set '/espalier-network:network/device=new-1' --store embedded:data

The value is written as in the model: 10, true, iana-if-type:ethernetCsmacd, base64 for binary.")]
pub struct Set {
    /// The path
    path: String,

    /// The value, for a leaf or leaf-list
    #[arg(allow_hyphen_values = true)]
    value: Option<String>,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl Set {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let settings = Settings::from(&self.access).over(settings);
        let endpoint = endpoint::open(&settings)?;
        let tree = self.tree(&*endpoint.schema()?);
        let tree = tree.map_err(|failure| endpoint.revert_modules(failure))?;
        let changed = endpoint.change(Change::Merge(tree))?;
        changed.print(self.output_options.json, "")
    }

    fn tree(&self, schema: &Schema) -> Result<DataTree> {
        let path = path::parse(schema, &self.path)?;
        single_node::tree_of(schema, &path, self.value.as_deref())
    }
}
