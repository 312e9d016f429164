//! `espalier export`.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use espalier_store::{Content, WithDefaults, WithOrigin};
use serde_json::json;

use crate::cli;
use crate::documents::{Format, Found, STANDARD};
use crate::error::{Failure, Result};
use crate::paths;
use crate::progress::Progress;
use crate::settings::{Access, Settings, Talk};
use crate::target::{self, Read};

/// Write all the data, or a part of it, as one document
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier export --store embedded:data -o backup.json
  espalier export --server http://127.0.0.1:8080 --format xml > data.xml
  espalier export --path /ietf-interfaces:interfaces --store embedded:data")]
pub struct Export {
    /// The part to write; else all
    #[arg(long, value_name = "PATH", default_value = "/")]
    path: String,

    /// The file to write; else standard output
    #[arg(short, long, value_name = "FILE", default_value = STANDARD)]
    output: String,

    /// How it is written; else what the file's name ends in
    #[arg(long)]
    format: Option<Format>,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub talk: Talk,
}

impl Export {
    /// Runs it.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let settings = Settings::from(&self.access).over(settings);
        let target = target::open_existing(&settings)?;
        let path = paths::parse(&*target.schema()?, &self.path)?;
        let read = Read {
            path: &path,
            depth: None,
            content: Content::All,
            fields: None,
            with_defaults: WithDefaults::Explicit,
            with_origin: WithOrigin::default(),
            format: Format::of(&self.output, self.format),
            at: None,
        };
        let started = Instant::now();
        let bytes = if self.output == STANDARD {
            self.write(&*target, &read, io::stdout().lock())?
        } else {
            self.write_file(&*target, &read)?
        };
        let seconds = started.elapsed().as_secs_f64();
        if self.output == STANDARD {
            return Ok(());
        }
        let value = json!({"file": self.output, "bytes": bytes, "seconds": seconds});
        let text = format!("wrote {bytes} bytes to {} in {seconds:.3} s", self.output);
        cli::answer(self.talk.json, &value, &text)
    }

    /// The file appears under its name only when it is complete.
    fn write_file(&self, target: &dyn target::Target, read: &Read<'_>) -> Result<u64> {
        let failed = |error: io::Error| {
            Failure::data(format!("the file cannot be written: {error}")).in_file(&self.output)
        };
        let is_special = fs::metadata(&self.output).is_ok_and(|metadata| !metadata.is_file());
        let partial = match is_special {
            true => PathBuf::from(&self.output),
            false => PathBuf::from(format!("{}.partial", self.output)),
        };
        let file = File::create(&partial).map_err(failed)?;
        let written = self.write(target, read, file);
        if is_special {
            return written;
        }
        match written {
            Ok(bytes) => {
                fs::rename(&partial, Path::new(&self.output)).map_err(failed)?;
                Ok(bytes)
            }
            Err(error) => {
                // What went wrong first is what the user should see.
                let _ = fs::remove_file(&partial);
                Err(error)
            }
        }
    }

    fn write(&self, target: &dyn target::Target, read: &Read<'_>, out: impl Write) -> Result<u64> {
        let mut out = CountingWriter {
            inner: BufWriter::with_capacity(1 << 18, out),
            bytes: 0,
            progress: Progress::bytes("exporting", None),
        };
        let found = target.read(read, &mut out)?;
        out.flush()?;
        let bytes = out.bytes;
        out.progress.finish();
        match found {
            Found::Something => Ok(bytes),
            Found::Nothing => Err(Failure::nothing_at(
                &self.path,
                read.path.to_instance_identifier(&*target.schema()?),
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
