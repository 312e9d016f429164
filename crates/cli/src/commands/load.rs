//! `espalier load`.

use std::path::Path;
use std::time::Instant;

use clap::Args;
use espalier_store::LoadMode;
use espalier_yang::data::{MetadataMode, ParseOptions, Root};
use espalier_yang::{Mark, NodeId, Schema, Sink, Value};
use serde_json::json;

use crate::endpoint::{self, Loaded, Upload};
use crate::settings::{Access, OutputOptions, Settings};
use espalier_terminal::document::{self, Format, STANDARD};
use espalier_terminal::output;
use espalier_terminal::progress::ProgressReader;
use espalier_terminal::{Failure, Result};

/// The maximum attempts to load a file while another writer changes the data.
const ATTEMPTS_MAX: usize = 8;

/// The size of the read buffer.
const BUFFER_BYTES: usize = 1 << 20;

/// Load a document (JSON or XML) into the data: all of it, or nothing if anything is wrong
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier load network/network.json --store embedded:data --yang network
  espalier load devices.xml --server http://127.0.0.1:8080
  cat network/network.json | espalier load - --format json --replace --store embedded:data

The modules of --yang replace those of the store in the same commit: the stored data and the document together \
must conform to them. If the load is rejected, data and modules are unchanged, and no anchor is created.")]
pub struct Load {
    /// The document; `-` is standard input
    file: String,

    /// The format; by default, that of the file name extension
    #[arg(long)]
    format: Option<Format>,

    /// Replace all data; by default, the document is merged into the data
    #[arg(long)]
    replace: bool,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl Load {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let settings = Settings::from(&self.access).over(settings);
        for _ in 1..ATTEMPTS_MAX {
            match self.load(&settings) {
                Err(failure) if failure.is_overtaken() && self.can_be_read_again() => {
                    tracing::info!("somebody else changed the data meanwhile; loading again");
                }
                result => return result,
            }
        }
        self.load(&settings)
    }

    fn can_be_read_again(&self) -> bool {
        self.file != STANDARD && Path::new(&self.file).is_file()
    }

    fn load(&self, settings: &Settings) -> Result<()> {
        let format = Format::of(&self.file, self.format);
        // Opened before the endpoint, as that may upgrade the modules.
        let (input, length) = document::open(&self.file)?;
        let mut input = ProgressReader::new(
            std::io::BufReader::with_capacity(BUFFER_BYTES, input),
            "loading",
            length,
        );
        let started = Instant::now();
        let mut upload = Upload {
            input: &mut input,
            format,
            mode: self.mode(),
        };
        let name = document::display_name(&self.file);
        let in_file = |failure: Failure| failure.in_file(name);
        let (loaded, counted) = match endpoint::load_with_modules(settings, &mut upload, name)? {
            Some(loaded) => (loaded, None),
            None => {
                let endpoint = endpoint::open(settings)?;
                // A server does not report how much it stored, so a file is counted, and checked, first.
                let counted = match settings.server {
                    Some(_) if self.file != STANDARD => {
                        Some(self.count(format, &*endpoint.schema()?)?)
                    }
                    _ => None,
                };
                (endpoint.load(upload).map_err(in_file)?, counted)
            }
        };
        let seconds = started.elapsed().as_secs_f64();
        let bytes = input.bytes();
        input.finish();
        self.report(loaded, counted, bytes, seconds)
    }

    fn mode(&self) -> LoadMode {
        match self.replace {
            true => LoadMode::Replace,
            false => LoadMode::Merge,
        }
    }

    fn count(&self, format: Format, schema: &Schema) -> Result<Count> {
        let (input, length) = document::open(&self.file)?;
        let mut input = ProgressReader::new(input, "checking", length);
        let mut count = Count::default();
        let options = ParseOptions {
            metadata: MetadataMode::Plain,
            ..ParseOptions::default()
        };
        document::parse(
            format,
            schema,
            Root::Datastore,
            &mut input,
            &mut count,
            &options,
        )
        .map_err(|error| document::parse_failure(error, &self.file))?;
        input.finish();
        Ok(count)
    }

    fn report(
        &self,
        loaded: Loaded,
        counted: Option<Count>,
        bytes: u64,
        seconds: f64,
    ) -> Result<()> {
        let fragments = loaded.fragments.or(counted.map(|count| count.fragments));
        let values = loaded.values.or(counted.map(|count| count.values));
        let rate = fragments.map(|fragments| fragments as f64 / seconds);
        let value = json!({
            "fragments": fragments,
            "values": values,
            "bytes": bytes,
            "seconds": seconds,
            "fragments-per-second": rate,
            "version": loaded.changed.version,
            "changed": loaded.changed.is_changed,
        });
        let text = match (fragments, values, rate) {
            (Some(fragments), Some(values), Some(rate)) => format!(
                "loaded {fragments} fragments with {values} values in {seconds:.3} s ({rate:.0} fragments/s)"
            ),
            _ => format!("loaded {bytes} bytes in {seconds:.3} s"),
        };
        output::print_result(self.output_options.json, &value, &text)
    }
}

/// Counts the nodes of a document.
#[derive(Clone, Copy, Default)]
struct Count {
    fragments: u64,
    values: u64,
}

impl Sink for Count {
    fn open(&mut self, _: NodeId, _: Mark) -> std::result::Result<(), espalier_yang::data::Stop> {
        self.fragments += 1;
        Ok(())
    }

    fn leaf(
        &mut self,
        _: NodeId,
        _: Value,
        _: Mark,
    ) -> std::result::Result<(), espalier_yang::data::Stop> {
        self.values += 1;
        Ok(())
    }

    fn any(
        &mut self,
        _: NodeId,
        _: &str,
        _: Mark,
    ) -> std::result::Result<(), espalier_yang::data::Stop> {
        self.values += 1;
        Ok(())
    }

    fn close(&mut self, _: Mark) -> std::result::Result<(), espalier_yang::data::Stop> {
        Ok(())
    }
}
