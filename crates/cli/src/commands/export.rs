//! `espalier export`.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use clap::Args;
use espalier_store::{Content, PageParameters, WithDefaults, WithOrigin};
use serde_json::json;

use crate::endpoint::{self, Read};
use crate::settings::{Access, OutputOptions, Settings};
use espalier_terminal::document::{Format, Found, STANDARD};
use espalier_terminal::output;
use espalier_terminal::output_file::{self, Existing, OutputFile};
use espalier_terminal::path;
use espalier_terminal::progress::Progress;
use espalier_terminal::{Failure, Result};

/// Write all data, or a part of it, as one document
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier export --store embedded:data -o backup.json
  espalier export --server http://127.0.0.1:8080 --format xml > data.xml
  espalier export --path /ietf-interfaces:interfaces --store embedded:data")]
pub struct Export {
    /// The part to write; by default, everything
    #[arg(long, value_name = "PATH", default_value = "/")]
    path: String,

    /// The file to write; by default, standard output
    #[arg(short, long, value_name = "FILE", default_value = STANDARD)]
    output: String,

    /// The format; by default, that of the file name extension
    #[arg(long)]
    format: Option<Format>,

    /// Replace the file if it exists
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl Export {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let settings = Settings::from(&self.access).over(settings);
        let is_standard = self.output == STANDARD;
        if !is_standard {
            // Checked before the store is opened, which may take long.
            let (file, existing) = (Path::new(&self.output), Existing::of(self.force));
            output_file::check(file, existing, settings.store.as_deref())?;
        }
        let endpoint = endpoint::open_existing(&settings)?;
        let schema = endpoint.schema_of_path(&self.path, None)?;
        let path = path::parse(&schema, &self.path)?;
        let read = Read {
            schema: &schema,
            path: &path,
            depth: None,
            content: Content::All,
            fields: None,
            with_defaults: WithDefaults::Explicit,
            with_origin: WithOrigin::default(),
            pages: &PageParameters::default(),
            format: Format::of(&self.output, self.format),
            at: None,
        };
        let started = Instant::now();
        if is_standard {
            self.write(&*endpoint, &read, output::stdout(read.format.form()))?;
            return Ok(());
        }
        let bytes = self.write_file(&*endpoint, &read)?;
        let seconds = started.elapsed().as_secs_f64();
        let value = json!({"file": self.output, "bytes": bytes, "seconds": seconds});
        let text = format!("wrote {bytes} bytes to {} in {seconds:.3} s", self.output);
        output::print_result(self.output_options.json, &value, &text)
    }

    /// Writes the file, which appears under its name only when it is complete.
    fn write_file(&self, endpoint: &dyn endpoint::Endpoint, read: &Read<'_>) -> Result<u64> {
        let mut file = OutputFile::create(Path::new(&self.output))?;
        let bytes = self.write(endpoint, read, file.writer())?;
        file.finish()?;
        Ok(bytes)
    }

    fn write(
        &self,
        endpoint: &dyn endpoint::Endpoint,
        read: &Read<'_>,
        out: impl Write,
    ) -> Result<u64> {
        let mut out = CountingWriter {
            inner: BufWriter::with_capacity(1 << 18, out),
            bytes: 0,
            progress: Progress::bytes("exporting", None),
        };
        let found = endpoint.read(read, &mut out)?;
        out.flush()?;
        let bytes = out.bytes;
        out.progress.finish();
        match found {
            Found::Something => Ok(bytes),
            Found::Nothing => Err(Failure::nothing_at(
                &self.path,
                read.path.to_instance_identifier(read.schema),
            )),
        }
    }
}

struct CountingWriter<W> {
    inner: W,
    bytes: u64,
    progress: Progress,
}

impl<W: Write> Write for CountingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.bytes += count as u64;
        self.progress.set(self.bytes);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
