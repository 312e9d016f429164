//! Documents of any size are processed in bounded memory; speed (`--ignored`, `--release`).

#[path = "data/documents.rs"]
mod documents;

use std::io::{self, Read};

use documents::schema;
use espalier_yang::data::{
    Annotations, Mark, ParseError, ParseOptions, PrintOptions, Root, Sink, Stop, json, xml,
};
use espalier_yang::schema::Schema;
use espalier_yang::{NodeId, Value};

/// Counts the received events.
#[derive(Default)]
struct Counter {
    opened: u64,
    leaves: u64,
}

impl Sink for Counter {
    fn open(&mut self, _: NodeId, _: Mark) -> Result<(), Stop> {
        self.opened += 1;
        Ok(())
    }

    fn leaf(&mut self, _: NodeId, _: Value, _: Mark) -> Result<(), Stop> {
        self.leaves += 1;
        Ok(())
    }

    fn any(&mut self, _: NodeId, _: &str, _: Mark) -> Result<(), Stop> {
        Ok(())
    }

    fn close(&mut self, _: Mark) -> Result<(), Stop> {
        Ok(())
    }

    fn annotate(&mut self, _: Annotations) -> Result<(), Stop> {
        Ok(())
    }
}

/// A document that is generated while it is read: a head, entries, a tail.
struct Generated<'a> {
    head: &'a str,
    tail: &'a str,
    entry: &'a dyn Fn(u64) -> String,
    entries: u64,
    next: u64,
    piece: Vec<u8>,
    given: usize,
}

impl<'a> Generated<'a> {
    fn new(head: &'a str, tail: &'a str, entries: u64, entry: &'a dyn Fn(u64) -> String) -> Self {
        Self {
            head,
            tail,
            entry,
            entries,
            next: 0,
            piece: Vec::new(),
            given: 0,
        }
    }
}

impl Read for Generated<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.given == self.piece.len() {
            self.piece.clear();
            self.given = 0;
            let text = match self.next {
                0 => self.head.to_owned(),
                index if index <= self.entries => (self.entry)(index - 1),
                index if index == self.entries + 1 => self.tail.to_owned(),
                _ => String::new(),
            };
            self.next += 1;
            self.piece.extend_from_slice(text.as_bytes());
        }
        let length = out.len().min(self.piece.len() - self.given);
        out[..length].copy_from_slice(&self.piece[self.given..self.given + length]);
        self.given += length;
        Ok(length)
    }
}

const JSON_HEAD: &str = "{\"farm:farm\":{\"field\":[\n";
const JSON_TAIL: &str = "]}}";
const XML_HEAD: &str = "<farm xmlns=\"urn:espalier:test:farm\">\n";
const XML_TAIL: &str = "</farm>";

fn json_entry(index: u64) -> String {
    let comma = if index == 0 { "" } else { "," };
    format!(
        "{comma}{{\"name\":\"field-{index:08}\",\"size\":{},\"flag\":true,\"text\":\"a field of number {index}\"}}\n",
        index % 9000
    )
}

fn xml_entry(index: u64) -> String {
    format!(
        "<field><name>field-{index:08}</name><size>{}</size><flag>true</flag><text>a field of number {index}</text></field>\n",
        index % 9000
    )
}

/// The peak resident memory of this process, in bytes.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let number = line.split_whitespace().nth(1)?.parse::<u64>().ok()?;
    Some(number * 1024)
}

fn parse(
    schema: &Schema,
    format: &str,
    input: impl Read,
    sink: &mut dyn Sink,
) -> Result<(), ParseError> {
    let options = ParseOptions::default();
    match format {
        "json" => json::parse(schema, Root::Datastore, input, sink, &options),
        _ => xml::parse(schema, Root::Datastore, input, sink, &options),
    }
}

/// The maximum growth for 300,000 entries: the hash of each, and the buffers.
const GROWTH_MAX: u64 = 300_000 * 16 * 3 + (8 << 20);

/// A single test, because the peak is per process and tests run in parallel.
#[test]
fn memory_is_bounded() {
    memory_does_not_grow_with_the_document();
    a_token_without_end_is_rejected();
}

fn memory_does_not_grow_with_the_document() {
    let schema = schema();
    let entries = 300_000;
    let before = peak_memory();
    let mut counter = Counter::default();
    let generated = Generated::new(JSON_HEAD, JSON_TAIL, entries, &json_entry);
    parse(&schema, "json", generated, &mut counter).unwrap();
    let generated = Generated::new(XML_HEAD, XML_TAIL, entries, &xml_entry);
    parse(&schema, "xml", generated, &mut counter).unwrap();
    assert_eq!(
        (counter.opened, counter.leaves),
        (2 * entries + 2, 8 * entries)
    );
    let mut printer = json::Printer::new(&schema, io::sink(), PrintOptions::default());
    let generated = Generated::new(XML_HEAD, XML_TAIL, entries, &xml_entry);
    parse(&schema, "xml", generated, &mut printer).unwrap();
    printer.finish().unwrap();
    let mut printer = xml::Printer::new(&schema, io::sink(), PrintOptions::default());
    let generated = Generated::new(JSON_HEAD, JSON_TAIL, entries, &json_entry);
    parse(&schema, "json", generated, &mut printer).unwrap();
    printer.finish().unwrap();
    if let (Some(before), Some(after)) = (before, peak_memory()) {
        let growth = after - before;
        assert!(growth < GROWTH_MAX, "{} MB more", growth >> 20);
    }
}

fn a_token_without_end_is_rejected() {
    let schema = schema();
    let filler = "x".repeat(1 << 20);
    let endless = |_: u64| filler.clone();
    let documents = [
        ("json", "{\"farm:motto\":\""),
        ("json", "{\"farm:motto\":\"\\n"),
        ("json", "{\"farm:farm\":{\"letter\":[\""),
        ("xml", "<motto xmlns=\"urn:espalier:test:farm\">"),
        ("xml", "<motto xmlns=\"urn:espalier:test:farm\" a=\""),
        ("xml", "<!--"),
    ];
    for (format, head) in documents {
        let generated = Generated::new(head, "", 64, &endless);
        match parse(&schema, format, generated, &mut Counter::default()) {
            Err(ParseError::Invalid(errors)) => {
                let text = errors.to_string();
                assert!(text.contains("LENGTH_MAX"), "{head}: {text}");
            }
            other => panic!("{head}: {other:?}"),
        }
    }
}

const SPEED_ENTRIES: u64 = 500_000;

fn document(head: &str, tail: &str, entry: &dyn Fn(u64) -> String) -> String {
    let mut text = head.to_owned();
    (0..SPEED_ENTRIES).for_each(|index| text.push_str(&entry(index)));
    text + tail
}

/// Run with `cargo test --release -p espalier-yang --test data_bounds -- --ignored --nocapture`.
#[test]
#[ignore = "measures"]
fn speed_of_reading() {
    let schema = schema();
    let documents = [
        ("json", document(JSON_HEAD, JSON_TAIL, &json_entry)),
        ("xml", document(XML_HEAD, XML_TAIL, &xml_entry)),
    ];
    for (format, text) in &documents {
        for _ in 0..5 {
            let mut counter = Counter::default();
            let start = cpu_seconds();
            parse(&schema, format, text.as_bytes(), &mut counter).unwrap();
            report(&format!("{format} read"), text.len(), counter.leaves, start);
        }
    }
}

#[test]
#[ignore = "measures"]
fn speed_of_printing() {
    let schema = schema();
    let text = document(JSON_HEAD, JSON_TAIL, &json_entry);
    let tree = documents::tree_of_json(&schema, &text);
    for _ in 0..5 {
        let mut counter = Counter::default();
        let start = cpu_seconds();
        tree.emit(&mut counter).unwrap();
        report("emit alone", text.len(), counter.leaves, start);
        let start = cpu_seconds();
        let mut printer = json::Printer::new(&schema, io::sink(), PrintOptions::default());
        tree.emit(&mut printer).unwrap();
        printer.finish().unwrap();
        report("json print with emit", text.len(), counter.leaves, start);
        let start = cpu_seconds();
        let mut printer = xml::Printer::new(&schema, io::sink(), PrintOptions::default());
        tree.emit(&mut printer).unwrap();
        printer.finish().unwrap();
        report("xml print with emit", text.len(), counter.leaves, start);
    }
}

/// The CPU time of this thread, which is independent of other load on the machine.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text
        .split(' ')
        .next()
        .and_then(|text| text.parse::<f64>().ok());
    nanoseconds.unwrap_or_default() / 1e9
}

fn report(what: &str, length: usize, leaves: u64, start: f64) {
    let seconds = cpu_seconds() - start;
    let megabytes = length as f64 / 1e6 / seconds;
    let leaves = leaves as f64 / 1e6 / seconds;
    println!("{what}: {megabytes:.0} MB/s, {leaves:.2} M leaves/s");
}
