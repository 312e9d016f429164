//! The rows of one size.

use std::io;
use std::path::{Path, PathBuf};

use espalier_store::{CommitOptions, Edit, PageRequest, Selection};
use espalier_yang::data::PrintOptions;
use espalier_yang::{InstancePath, Keys};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::fixture::{Fixture, SUITE};
use crate::dataset::{self, ReceivedEntries, expect};
use crate::engine::Durability;
use crate::harness::{Repetitions, Timing, measure};
use crate::http::Server;
use crate::memory;
use crate::raw::{Contents, Lmdb, RawEngine};
use crate::recorder::Trace;
use crate::row::{EngineLabels, Row};
use espalier_terminal::document::{self, Format, Found};
use espalier_terminal::{Failure, Result};

/// The seed: every run chooses the same entries.
const SEED: u64 = 0x6573_7061_6c69_6572;

/// The largest number of traces of a row that the raw engine replays.
const TRACES_MAX: u64 = 2000;

/// The number of entries deleted in one commit.
const DELETES_PER_COMMIT: u64 = 1000;

/// The number of the store that the commands `espalier load` and `espalier export` use.
const MEMORY_STORE_NUMBER: u64 = 1000;

/// The number of entries in a page.
const PAGE: u64 = 10;

/// Measures one size.
pub struct Rows<'a> {
    size: u64,
    /// The folder of the stores; `None` for memory.
    folder: Option<&'a Path>,
    document: PathBuf,
    _document_folder: tempfile::TempDir,
    random: StdRng,
    emit: &'a mut dyn FnMut(Row) -> Result<()>,
}

impl<'a> Rows<'a> {
    /// Prepares the document to load.
    pub fn new(
        size: u64,
        folder: Option<&'a Path>,
        emit: &'a mut dyn FnMut(Row) -> Result<()>,
    ) -> Result<Self> {
        let document_folder = tempfile::tempdir()?;
        let document = document_folder.path().join("entries.json");
        dataset::write_document(&document, size)?;
        Ok(Self {
            size,
            folder,
            document,
            _document_folder: document_folder,
            random: StdRng::seed_from_u64(SEED),
            emit,
        })
    }

    /// Measures every row.
    pub fn run(&mut self) -> Result<()> {
        let (fixture, durability) = self.load()?;
        let raw = self.raw_engine(&fixture, durability)?;
        // Read everything first: it maps every page into this process, as in a server that has run for some time. The
        // raw engine is scanned for the same reason.
        self.read_all(&fixture, durability, raw.as_ref())?;
        self.get_one(&fixture, durability, raw.as_ref())?;
        self.page(&fixture, durability, raw.as_ref())?;
        self.restconf_get_one(&fixture, durability)?;
        self.set_one(&fixture, durability, raw.as_ref())?;
        drop(raw);
        if self.folder.is_some() {
            drop(fixture);
            let fixture = Fixture::open(&self.url(0, Durability::Relaxed))?;
            let raw = self.raw_engine(&fixture, Durability::Relaxed)?;
            map_all_pages(&fixture, raw.as_ref())?;
            self.set_one(&fixture, Durability::Relaxed, raw.as_ref())?;
            return self.delete_half(&fixture, Durability::Relaxed, raw.as_ref());
        }
        self.delete_half(&fixture, durability, None)
    }

    fn url(&self, number: u64, durability: Durability) -> String {
        match self.folder {
            Some(folder) => format!(
                "embedded:{}?durability={}",
                folder.join(format!("store-{number}")).display(),
                durability.as_str()
            ),
            None => "memory:".to_owned(),
        }
    }

    fn row(&self, name: &str, fixture: &Fixture, durability: Durability) -> Row {
        let is_memory = durability == Durability::None;
        let labels = EngineLabels {
            driver: fixture.tree.store().driver().name().to_owned(),
            policy: if is_memory { "ram" } else { "uncached" },
            durability: durability.as_str(),
        };
        Row::new(SUITE, name, labels, self.size)
    }

    /// Measures loads into new stores; returns the first of them, for the other rows.
    fn load(&mut self) -> Result<(Fixture, Durability)> {
        let durability = match self.folder {
            Some(_) => Durability::Durable,
            None => Durability::None,
        };
        let mut fixtures = Vec::new();
        for number in 0..Repetitions::few(3).calls_max() {
            fixtures.push(Fixture::open(&self.url(number, durability))?);
        }
        let size = self.size;
        let timing = measure(
            Repetitions::few(3),
            |call| fixtures[call as usize].load(&self.document),
            |_, report| {
                let fragments = size + 1;
                expect(
                    report.fragments == fragments && report.values == 3 * size,
                    || format!("loading reported {} fragments", report.fragments),
                )
            },
        )?;
        let raw = match self.folder {
            Some(_) => Some(self.raw_load(&fixtures[0])?),
            None => None,
        };
        let rate = (size + 1) as f64 / timing.median_s;
        let row = self.row("load", &fixtures[0], durability);
        let row = row.timed(&timing).note(format!(
            "{rate:.0} fragments/s from a JSON file in one commit"
        ));
        let row = row.note(self.load_memory()?);
        let row = match &raw {
            Some((timing, note)) => row.raw(Some(timing)).note(note),
            None => row,
        };
        (self.emit)(row)?;
        Ok((fixtures.swap_remove(0), durability))
    }

    fn raw_load(&self, fixture: &Fixture) -> Result<(Timing, String)> {
        let contents = Contents::of(&**fixture.tree.store().driver())?;
        let mut engines = Vec::new();
        for _ in 0..3 {
            let folder = self.raw_folder()?;
            engines.push((Lmdb::create(folder.path(), Durability::Durable)?, folder));
        }
        let timing = measure(
            Repetitions::few(3),
            |call| engines[call as usize].0.load(&contents),
            |_, ()| Ok(()),
        )?;
        let note = format!("{} keys, {} bytes", contents.keys(), contents.bytes());
        Ok((timing, note))
    }

    fn raw_folder(&self) -> Result<tempfile::TempDir> {
        let builder = tempfile::Builder::new();
        let folder = match self.folder {
            Some(folder) => builder.tempdir_in(folder),
            None => builder.tempdir(),
        };
        Ok(folder?)
    }

    /// The raw engine with a copy of the current content of the store; none for memory.
    fn raw_engine(&self, fixture: &Fixture, durability: Durability) -> Result<Option<RawLmdb>> {
        if self.folder.is_none() {
            return Ok(None);
        }
        let folder = self.raw_folder()?;
        let engine = Lmdb::create(folder.path(), durability)?;
        engine.load(&Contents::of(&**fixture.tree.store().driver())?)?;
        Ok(Some(RawLmdb {
            engine,
            _folder: folder,
        }))
    }

    fn choose(&mut self, count: u64) -> Vec<u64> {
        let size = self.size;
        (0..count)
            .map(|_| self.random.random_range(0..size))
            .collect()
    }

    fn get_one(
        &mut self,
        fixture: &Fixture,
        durability: Durability,
        raw: Option<&RawLmdb>,
    ) -> Result<()> {
        let plan = Repetitions::many(20_000);
        let numbers = self.choose(plan.calls_max());
        let paths: Vec<_> = numbers
            .iter()
            .map(|&number| fixture.nodes.path(number))
            .collect();
        let selection = Selection::default();
        let get = |call: u64| {
            let mut received = ReceivedEntries::new(fixture.nodes);
            fixture
                .tree
                .view()?
                .read(&paths[call as usize], &selection, &mut received)?;
            Ok(received)
        };
        let timing = measure(plan, get, |call, received| {
            received.expect_entry(numbers[call as usize])
        })?;
        let traces = traces(fixture, |call| get(call).map(drop))?;
        let row = self.row("get one", fixture, durability).timed(&timing);
        self.finish(row, raw, &traces)
    }

    fn page(
        &mut self,
        fixture: &Fixture,
        durability: Durability,
        raw: Option<&RawLmdb>,
    ) -> Result<()> {
        let middle = self.size / 2;
        let list = fixture.nodes.list();
        let Keys::Values(keys) = fixture.nodes.keys(middle) else {
            return Err(Failure::data("the entry has no keys".to_owned()));
        };
        let request = PageRequest::first(Some(PAGE)).after(keys);
        let selection = Selection::default();
        let get = |_: u64| {
            let mut received = ReceivedEntries::new(fixture.nodes);
            let view = fixture.tree.view()?;
            view.read_page(&list, &request, &selection, &mut received)?;
            Ok(received)
        };
        let expected = PAGE.min(self.size - middle - 1);
        let timing = measure(Repetitions::many(5_000), get, |_, received| {
            let first = (expected > 0).then_some(middle + 1);
            expect(
                received.entries == expected && received.first == first,
                || {
                    format!(
                        "a page of {} entries from {:?}",
                        received.entries, received.first
                    )
                },
            )
        })?;
        let traces = traces(fixture, |call| get(call).map(drop))?;
        let row = self.row("page of 10", fixture, durability).timed(&timing);
        let row = row.note("after an entry in the middle");
        self.finish(row, raw, &traces)
    }

    fn read_all(
        &mut self,
        fixture: &Fixture,
        durability: Durability,
        raw: Option<&RawLmdb>,
    ) -> Result<()> {
        let (size, schema) = (self.size, fixture.tree.schema());
        let selection = Selection::default();
        let mut received = ReceivedEntries::new(fixture.nodes);
        fixture
            .tree
            .view()?
            .read(&InstancePath::root(), &selection, &mut received)?;
        let sum = size * (size - 1) / 2;
        expect(received.entries == size && received.sum == sum, || {
            format!("reading everything returned {} entries", received.entries)
        })?;
        let export = |_: u64| {
            let options = PrintOptions::default();
            document::print(Format::Json, schema, options, &mut io::sink(), |sink| {
                let root = InstancePath::root();
                let found = fixture.tree.view()?.read(&root, &selection, sink)?;
                Ok(Found::from_store(found))
            })
        };
        let timing = measure(Repetitions::few(5), export, |_, found| {
            expect(found == Found::Something, || "nothing to export".to_owned())
        })?;
        let rate = (size + 1) as f64 / timing.median_s;
        let raw = match raw {
            Some(raw) => Some(measure(
                Repetitions::few(5),
                |_| raw.engine.scan(),
                |_, bytes| expect(bytes > 0, || "the raw engine is empty".to_owned()),
            )?),
            None => None,
        };
        let row = self.row("read all", fixture, durability).timed(&timing);
        let row = row.raw(raw.as_ref()).note(format!(
            "{rate:.0} fragments/s to JSON; raw scans every key"
        ));
        let row = row.note(self.export_memory()?);
        (self.emit)(row)
    }

    /// A note on the memory that `espalier load` needs for the same document.
    fn load_memory(&self) -> Result<String> {
        let Some(folder) = self.folder else {
            return Ok(String::new());
        };
        let model = folder.join("espalier-bench-scale.yang");
        dataset::write_model(&model)?;
        let (model, document) = (model.display().to_string(), self.document.display());
        let (store, document) = (
            self.url(MEMORY_STORE_NUMBER, Durability::Durable),
            document.to_string(),
        );
        let peak = memory::peak_of(&["load", &document, "--store", &store, "--yang", &model])?;
        Ok(format!(
            "`espalier load` needs at most {} MB of private memory",
            peak >> 20
        ))
    }

    /// A note on the memory that `espalier export` needs.
    fn export_memory(&self) -> Result<String> {
        if self.folder.is_none() {
            return Ok(String::new());
        }
        let store = self.url(MEMORY_STORE_NUMBER, Durability::Durable);
        let peak = memory::peak_of(&["export", "--store", &store, "-o", "/dev/null"])?;
        Ok(format!(
            "`espalier export` needs at most {} MB of private memory",
            peak >> 20
        ))
    }

    fn restconf_get_one(&mut self, fixture: &Fixture, durability: Durability) -> Result<()> {
        let plan = Repetitions::many(10_000);
        let numbers = self.choose(plan.calls_max());
        let server = Server::start(fixture.tree.clone(), dataset::source())?;
        let mut connection = server.connect()?;
        let timing = measure(
            plan,
            |call| {
                let name = dataset::entry_name(numbers[call as usize]);
                let path = format!("/restconf/data/espalier-bench-scale:scale/entry={name}");
                Ok(connection.get(&path)?.to_vec())
            },
            |call, body| {
                let number = format!("\"number\":{}", numbers[call as usize]);
                let text: String = String::from_utf8_lossy(&body).split_whitespace().collect();
                expect(text.contains(&number), || {
                    format!("the server responded {text}")
                })
            },
        )?;
        drop(connection);
        server.stop()?;
        let row = self
            .row("restconf get one", fixture, durability)
            .timed(&timing);
        (self.emit)(row.note(format!(
            "one keep-alive connection, client and server on one core; {:.0} requests/s, \
             {:.0} requests per processor second",
            1.0 / timing.median_s,
            1.0 / timing.cpu_s
        )))
    }

    fn set_one(
        &mut self,
        fixture: &Fixture,
        durability: Durability,
        raw: Option<&RawLmdb>,
    ) -> Result<()> {
        let plan = match durability {
            Durability::Durable => Repetitions::many(500),
            _ => Repetitions::many(5_000),
        };
        let numbers = self.choose(plan.calls_max());
        let texts: Vec<_> = (0..plan.calls_max())
            .map(|call| format!("changed {call}"))
            .collect();
        let set = |call: u64| {
            let edit = fixture
                .nodes
                .set_text(numbers[call as usize], &texts[call as usize]);
            Ok(fixture.tree.commit(&[edit], CommitOptions::default())?)
        };
        let selection = Selection::default();
        let timing = measure(plan, set, |call, commit| {
            let mut received = ReceivedEntries::new(fixture.nodes);
            let path = fixture.nodes.path(numbers[call as usize]);
            fixture
                .tree
                .view()?
                .read(&path, &selection, &mut received)?;
            let text = espalier_yang::Value::string(texts[call as usize].as_str());
            expect(commit.is_changed && received.text == Some(text), || {
                format!(
                    "the new text of entry {} is not visible",
                    numbers[call as usize]
                )
            })
        })?;
        let again = self.choose(TRACES_MAX);
        let traces = traces(fixture, |call| {
            let edit = fixture
                .nodes
                .set_text(again[call as usize], &format!("again {call}"));
            fixture.tree.commit(&[edit], CommitOptions::default())?;
            Ok(())
        })?;
        let row = self.row("set one", fixture, durability).timed(&timing);
        self.finish(row, raw, &traces)
    }

    fn delete_half(
        &mut self,
        fixture: &Fixture,
        durability: Durability,
        raw: Option<&RawLmdb>,
    ) -> Result<()> {
        let half = self.size / 2;
        let mut edits = (0..half).map(|number| Edit::delete(fixture.nodes.path(number * 2)));
        let mut commits: Vec<Vec<Edit>> = Vec::new();
        while let Some(first) = edits.next() {
            let more = edits.by_ref().take(DELETES_PER_COMMIT as usize - 1);
            commits.push(std::iter::once(first).chain(more).collect());
        }
        if raw.is_some() {
            fixture.recorder.start();
        }
        let timing = measure(
            Repetitions::few(1),
            |_| {
                for edits in std::mem::take(&mut commits) {
                    fixture.tree.commit(&edits, CommitOptions::default())?;
                }
                Ok(())
            },
            |_, ()| Ok(()),
        )?;
        let trace = fixture.recorder.stop();
        let left = fixture.tree.view()?.count(&fixture.nodes.list())?;
        expect(left == self.size - half, || {
            format!("{left} entries are left")
        })?;
        let raw = match raw {
            Some(raw) => Some(measure(
                Repetitions::few(1),
                |_| raw.engine.replay(&trace),
                |_, _| Ok(()),
            )?),
            None => None,
        };
        let rate = half as f64 / timing.median_s;
        let row = self
            .row("delete half", fixture, durability)
            .timed(&timing)
            .raw(raw.as_ref());
        (self.emit)(row.note(format!(
            "every second entry, {DELETES_PER_COMMIT} per commit; {rate:.0} entries/s"
        )))
    }

    /// Adds the raw engine's figure for the same reads and writes.
    fn finish(&mut self, row: Row, raw: Option<&RawLmdb>, traces: &[Trace]) -> Result<()> {
        let Some(raw) = raw else {
            return (self.emit)(row);
        };
        let plan = Repetitions {
            warm_up: 0,
            ..Repetitions::many(traces.len() as u64)
        };
        let replay = |call: u64| raw.engine.replay(&traces[call as usize]);
        let timing = measure(plan, replay, |_, _| Ok(()))?;
        let reads = traces.first().map_or(0, |trace| trace.reads.len());
        let writes = traces
            .first()
            .map_or(0, |trace| trace.commits.iter().map(Vec::len).sum());
        (self.emit)(row.raw(Some(&timing)).note(format!(
            "{reads} reads and {writes} writes of the engine, as in raw"
        )))
    }
}

/// The raw engine and its folder.
struct RawLmdb {
    engine: Lmdb,
    _folder: tempfile::TempDir,
}

/// Maps every page into this process.
fn map_all_pages(fixture: &Fixture, raw: Option<&RawLmdb>) -> Result<()> {
    let mut received = ReceivedEntries::new(fixture.nodes);
    let (root, selection) = (InstancePath::root(), Selection::default());
    fixture
        .tree
        .view()?
        .read(&root, &selection, &mut received)?;
    raw.map_or(Ok(0), |raw| raw.engine.scan()).map(drop)
}

/// The reads and writes of the store in its driver for each of some calls.
fn traces(fixture: &Fixture, mut operation: impl FnMut(u64) -> Result<()>) -> Result<Vec<Trace>> {
    let mut traces = Vec::new();
    for call in 0..TRACES_MAX {
        fixture.recorder.start();
        operation(call)?;
        traces.push(fixture.recorder.stop());
    }
    Ok(traces)
}
