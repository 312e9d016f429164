//! Arbitrary bytes as input, sinks that stop, writers that fail: always an error, never a panic.

use std::io::{self, Write};

use espalier_testkit::oracle::documents::Documents;
use espalier_testkit::oracle::libyang::Format;
use espalier_testkit::seed;
use espalier_yang::data::{
    Mark, MetadataMode, ParseError, ParseOptions, PrintError, PrintOptions, Root, Sink, Stop, json,
    xml,
};
use espalier_yang::{NodeId, Schema, Value};
use rand::Rng;

use crate::documents::{json_of, schema, xml_of};

/// Accepts a number of events, then stops.
struct Events {
    left: usize,
    rejected: usize,
}

impl Events {
    fn event(&mut self) -> Result<(), Stop> {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.rejected += 1;
                Err(Stop)
            }
        }
    }
}

impl Sink for Events {
    fn open(&mut self, _: NodeId, _: Mark) -> Result<(), Stop> {
        self.event()
    }

    fn leaf(&mut self, _: NodeId, _: Value, _: Mark) -> Result<(), Stop> {
        self.event()
    }

    fn any(&mut self, _: NodeId, _: &str, _: Mark) -> Result<(), Stop> {
        self.event()
    }

    fn close(&mut self, _: Mark) -> Result<(), Stop> {
        self.event()
    }
}

fn read(
    schema: &Schema,
    format: Format,
    text: &[u8],
    sink: &mut dyn Sink,
    metadata: MetadataMode,
) -> Result<(), ParseError> {
    let options = ParseOptions {
        metadata,
        ..ParseOptions::default()
    };
    match format {
        Format::Json => json::parse(schema, Root::Datastore, text, sink, &options),
        Format::Xml => xml::parse(schema, Root::Datastore, text, sink, &options),
    }
}

#[test]
fn arbitrary_bytes_do_not_panic() {
    let schema = schema();
    seed::run("arbitrary_bytes_do_not_panic", |random| {
        for round in 0..3_000 {
            let tree = Documents::new(&schema, random).tree();
            let (format, text) = match round % 2 {
                0 => (Format::Json, json_of(&schema, &tree)),
                _ => (Format::Xml, xml_of(&schema, &tree)),
            };
            let mut text = text.into_bytes();
            for _ in 0..random.random_range(1..4) {
                if text.is_empty() {
                    break;
                }
                let at = random.random_range(0..text.len());
                match random.random_range(0..4) {
                    0 => text.truncate(at),
                    1 => text[at] = random.random(),
                    2 => text.insert(at, b"{}[]\",:<>/&;@'\n"[random.random_range(0..15)]),
                    _ => drop(text.remove(at)),
                }
            }
            let lines = text.iter().filter(|&&byte| byte == b'\n').count() + 1;
            let metadata = match random.random_bool(0.5) {
                true => MetadataMode::Kept,
                false => MetadataMode::Ignored,
            };
            let mut sink = Events {
                left: usize::MAX,
                rejected: 0,
            };
            if let Err(ParseError::Invalid(errors)) =
                read(&schema, format, &text, &mut sink, metadata)
            {
                assert!(!errors.is_empty());
                let is_placed = |line: u32| line >= 1 && line as usize <= lines;
                assert!(errors.iter().all(|error| is_placed(error.line)), "{errors}");
            }
        }
    });
}

#[test]
fn a_stopped_sink_receives_no_more_events() {
    let schema = schema();
    seed::run("a_stopped_sink_receives_no_more_events", |random| {
        for round in 0..200 {
            let tree = Documents::new(&schema, random).tree();
            let mut all = Events {
                left: usize::MAX,
                rejected: 0,
            };
            tree.emit(&mut all).unwrap();
            let count = usize::MAX - all.left;
            if count == 0 {
                continue;
            }
            let left = random.random_range(0..count);
            let mut sink = Events { left, rejected: 0 };
            let result = match round % 4 {
                0 => read(
                    &schema,
                    Format::Json,
                    json_of(&schema, &tree).as_bytes(),
                    &mut sink,
                    MetadataMode::Ignored,
                ),
                1 => read(
                    &schema,
                    Format::Json,
                    json_of(&schema, &tree).as_bytes(),
                    &mut sink,
                    MetadataMode::Kept,
                ),
                2 => read(
                    &schema,
                    Format::Xml,
                    xml_of(&schema, &tree).as_bytes(),
                    &mut sink,
                    MetadataMode::Ignored,
                ),
                _ => tree.emit(&mut sink).map_err(|Stop| ParseError::Stopped),
            };
            assert!(matches!(result, Err(ParseError::Stopped)), "{result:?}");
            assert_eq!(sink.rejected, 1);
        }
    });
}

/// A disk that is full after some bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self
            .0
            .checked_sub(bytes.len())
            .ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_writer_that_fails_is_reported() {
    let schema = schema();
    let tags: Vec<String> = (0..30_000)
        .map(|number| format!("\"tag {number}\""))
        .collect();
    let text = format!(r#"{{"farm:neighbours":[{}]}}"#, tags.join(","));
    for room in [0, 100_000] {
        let mut printer = json::Printer::new(&schema, Full(room), PrintOptions::default());
        let result = read(
            &schema,
            Format::Json,
            text.as_bytes(),
            &mut printer,
            MetadataMode::Ignored,
        );
        assert!(matches!(result, Err(ParseError::Stopped)));
        assert!(matches!(printer.finish(), Err(PrintError::Write(_))));
        let mut printer = xml::Printer::new(&schema, Full(room), PrintOptions::default());
        let result = read(
            &schema,
            Format::Json,
            text.as_bytes(),
            &mut printer,
            MetadataMode::Ignored,
        );
        assert!(matches!(result, Err(ParseError::Stopped)));
        assert!(matches!(printer.finish(), Err(PrintError::Write(_))));
    }
}
