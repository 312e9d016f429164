//! Runs the rows.

use std::hint::black_box;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use espalier_documents::{Collection, Documents, Index, Policy};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::cars::{Car, Groups, cars, color, name, second_tag, tag};
use super::memory;
use crate::configuration::{Configuration, RawClient, StoreLocation};
use crate::figures::Figures;
use crate::harness::{Repetitions, Timing, cpu_time, measure, run_threads};
use crate::output::Output;
use crate::recorder::{Recorder, Trace};
use crate::row::{EngineLabels, Peer, Row};
use espalier_terminal::{Failure, Result};

/// The figures of DODB.
static FIGURES: LazyLock<Figures> =
    LazyLock::new(|| Figures::embedded(include_str!("../../data/figures/dodb.toml")));

/// The number of documents per commit while the collection is filled.
const BULK: u64 = 1000;

/// The number of queries timed together: one takes less time than reading the clock.
const BATCH: u64 = 100;

/// The largest number of cars added one by one.
const SINGLE_INSERTS: u64 = 2000;

/// The number of threads that add cars concurrently, and of the cars each adds.
const THREADS: u64 = 8;
const INSERTS_OF_A_THREAD: u64 = 500;

/// The number of calls of a row that the raw engine replays.
const TRACES: u64 = 50;

/// The parameters of the suite.
pub struct Dodb {
    /// Numbers of cars, ascending.
    pub sizes: Vec<u64>,
    /// Numbers of cars in a partition, and with a tag.
    pub matches: Vec<u64>,
    /// The policies.
    pub policies: Vec<Policy>,
    /// The configurations to measure.
    pub configurations: Vec<Configuration>,
}

/// Runs the suite. Fails at the first wrong result.
pub fn run(dodb: &Dodb, output: &mut Output) -> Result<()> {
    for (number, configuration) in dodb.configurations.iter().enumerate() {
        for (at, &size) in dodb.sizes.iter().enumerate() {
            let is_last = at + 1 == dodb.sizes.len();
            for &policy in &dodb.policies {
                if policy == Policy::Ram && number > 0 {
                    // This policy is the same on every engine.
                    continue;
                }
                let mut fixture = Fixture::open(dodb, configuration, policy, size, output)?;
                fixture.get()?;
                fixture.get_again()?;
                if is_last {
                    fixture.matching()?;
                }
                fixture.insert_one_by_one()?;
                fixture.insert_by_threads()?;
                if is_last && policy == Policy::Cached {
                    fixture.load_cache()?;
                }
            }
        }
    }
    Ok(())
}

/// A filled collection.
struct Fixture<'a> {
    output: &'a mut Output,
    policy: Policy,
    driver: String,
    durability: &'static str,
    size: u64,
    sizes: Vec<u64>,
    documents: Documents,
    cars: Collection<Car>,
    /// Records the reads and writes that reach the driver.
    recorder: Arc<Recorder>,
    /// The engine's own client, if documents are read from the engine.
    raw: Option<RawClient>,
    location: StoreLocation,
}

impl<'a> Fixture<'a> {
    fn open(
        dodb: &Dodb,
        configuration: &Configuration,
        policy: Policy,
        size: u64,
        output: &'a mut Output,
    ) -> Result<Self> {
        let mut location = configuration.location()?;
        let (recorder, driver) = location.open()?;
        let prefix = espalier_store::Subspace::Documents.key();
        let documents = Documents::new(driver, &prefix);
        let mut groups = Groups::new(&dodb.matches, size);
        let sizes = groups.sizes();
        let cars = cars(policy).open(&documents)?;
        let labels = configuration.labels();
        let (driver, durability) = match policy {
            Policy::Ram => ("none".to_owned(), "none"),
            _ => (labels.driver, labels.durability),
        };
        let mut fixture = Self {
            output,
            policy,
            driver,
            durability,
            size,
            sizes,
            documents,
            cars,
            recorder,
            raw: None,
            location,
        };
        fixture.fill(&mut groups)?;
        if policy != Policy::Ram {
            fixture.raw = fixture.location.raw_copy(&*fixture.recorder)?;
        }
        Ok(fixture)
    }

    /// The time of the raw engine for the reads and writes of `operation`; none if the driver is not accessed.
    fn raw(&self, mut operation: impl FnMut(u64) -> Result<()>) -> Result<Option<Timing>> {
        let Some(raw) = &self.raw else {
            return Ok(None);
        };
        let traces = (0..TRACES).map(|call| self.recorder.record(|| operation(call)));
        let traces = traces.collect::<Result<Vec<_>>>()?;
        match traces.iter().any(Trace::is_empty) {
            true => Ok(None),
            false => raw.replay(&traces).map(Some),
        }
    }

    /// The figures of DODB and of plain files for a row.
    fn figures(&self, row: &str, size: u64) -> Vec<Peer> {
        let policy = match self.policy {
            Policy::Recent { .. } => Policy::Uncached,
            policy => policy,
        };
        FIGURES.peers(policy.as_str(), row, size)
    }

    fn row(&self, row: impl Into<String>, size: u64) -> Row {
        let labels = EngineLabels {
            driver: self.driver.clone(),
            policy: self.policy.as_str(),
            durability: self.durability,
        };
        Row::new("dodb", row, labels, size)
    }

    fn fill(&mut self, groups: &mut Groups) -> Result<()> {
        let mut samples = Vec::new();
        let cpu = cpu_time();
        let mut number = 0;
        while number < self.size {
            let end = (number + BULK).min(self.size);
            let cars: Vec<_> = (number..end).map(|number| groups.car(number)).collect();
            let before = Instant::now();
            self.cars.insert_many(cars)?;
            samples.push(before.elapsed().as_secs_f64() / (end - number) as f64);
            number = end;
        }
        let batches = samples.len() as u64;
        let timing = Timing::from_samples(
            samples,
            cpu_time().saturating_sub(cpu) * batches as u32 / self.size as u32,
        )?;
        let peers = self.figures("add", self.size);
        let row = self
            .row("add, 1000 at once", self.size)
            .timed(&timing)
            .peers(peers);
        self.output
            .add_row(&row.note("per car, three indexes, all cars"))
    }

    /// The first graph: get one car by index.
    fn get(&mut self) -> Result<()> {
        let mut random = StdRng::seed_from_u64(self.size);
        let index = self.cars.index("name")?;
        let numbers: Vec<u64> = (0..BATCH * 1024)
            .map(|_| random.random_range(0..self.size))
            .collect();
        let names: Vec<_> = numbers.iter().map(|number| name(*number)).collect();
        let batches = names.len() as u64 / BATCH;
        let batch = |call: u64| {
            let from = ((call % batches) * BATCH) as usize;
            from..from + BATCH as usize
        };
        let timing = measure(
            Repetitions::many(1000),
            |call| {
                let mut found = Vec::with_capacity(BATCH as usize);
                for name in &names[batch(call)] {
                    found.push(black_box(index.get(name.as_str())?));
                }
                Ok(found)
            },
            |call, found| {
                let expected = names[batch(call)].iter();
                let is_right = expected
                    .zip(&found)
                    .all(|(name, car)| car.as_ref().is_some_and(|car| car.name == *name));
                expect_right(is_right, "get by index")
            },
        )?;
        let raw = self.raw(|call| {
            index.get(names[call as usize].as_str())?;
            Ok(())
        })?;
        let row = self
            .row("get by index", self.size)
            .timed(&timing.per_operation(BATCH));
        let row = row
            .raw(raw.as_ref())
            .peers(self.figures("get by index", self.size));
        self.output.add_row(&row.note(format!(
            "{BATCH} random cars together, average per car: none was read shortly before"
        )))
    }

    /// Gets the same 100 cars repeatedly, as in DODB's figures.
    fn get_again(&mut self) -> Result<()> {
        let mut random = StdRng::seed_from_u64(self.size);
        let index = self.cars.index("name")?;
        let names: Vec<_> = (0..BATCH)
            .map(|_| name(random.random_range(0..self.size)))
            .collect();
        let timing = measure(
            Repetitions::many(1000),
            |_| {
                for name in &names {
                    black_box(index.get(name.as_str())?);
                }
                Ok(())
            },
            |_, ()| Ok(()),
        )?;
        let row = self
            .row("get by index, again", self.size)
            .timed(&timing.per_operation(BATCH))
            .peers(self.figures("get by index, again", self.size));
        self.output.add_row(&row.note(format!(
            "the same {BATCH} random cars repeatedly, average per car"
        )))
    }

    /// The second and the third graph: all cars of a partition, of a tag, of two tags.
    fn matching(&mut self) -> Result<()> {
        let (color_index, keyword) = (self.cars.index("color")?, self.cars.index("keyword")?);
        for matching in self.sizes.clone() {
            let peers = self.figures("partition", matching);
            let of_color = color(matching);
            self.find("partition", matching, peers, &color_index, |index| {
                Ok(index.find(of_color.as_str())?)
            })?;
            let peers = self.figures("tag", matching);
            let of_tag = tag(matching);
            self.find("tag", matching, peers, &keyword, |index| {
                Ok(index.find(of_tag.as_str())?)
            })?;
            let peers = self.figures("two tags", matching);
            let both = [tag(matching), second_tag(matching)];
            self.find("two tags", matching, peers, &keyword, |index| {
                Ok(index.all(&both)?)
            })?;
        }
        Ok(())
    }

    fn find(
        &mut self,
        row: &str,
        matching: u64,
        peers: Vec<Peer>,
        index: &Index<Car>,
        find: impl Fn(&Index<Car>) -> Result<Vec<(u64, Arc<Car>)>>,
    ) -> Result<()> {
        let timing = measure(
            Repetitions::many(50),
            |_| find(index),
            |_, found| {
                let is_right = found.len() as u64 == matching
                    && found.iter().all(|(_, car)| car.color == color(matching));
                expect_right(is_right, row)
            },
        )?;
        let raw = self.raw(|_| find(index).map(drop))?;
        let row = self.row(row, matching).timed(&timing).peers(peers);
        self.output.add_row(
            &row.raw(raw.as_ref())
                .note(format!("among {} cars", self.size)),
        )
    }

    fn insert_one_by_one(&mut self) -> Result<()> {
        let mut groups = Groups::new(&[], u64::MAX);
        let size = self.size;
        let plan = Repetitions::many(SINGLE_INSERTS);
        // Generate the cars outside the measured time.
        let made: Vec<_> = (0..plan.calls_max())
            .map(|call| groups.car(size + call))
            .collect();
        let mut made = made.into_iter();
        let timing = measure(
            plan,
            |_| match made.next() {
                Some(car) => Ok(Some(self.cars.insert(car)?)),
                None => Ok(None),
            },
            |call, key| expect_right(key == Some(size + call), "add"),
        )?;
        let next = self.cars.next_key()?;
        let raw = self.raw(|call| {
            self.cars.insert(groups.car(next + call))?;
            Ok(())
        })?;
        let peers = self.figures("add", self.size);
        let row = self.row("add", self.size).timed(&timing).peers(peers);
        self.output.add_row(
            &row.raw(raw.as_ref())
                .note("three indexes, six entries, one commit per car"),
        )
    }

    /// Adds cars by several threads. Each call returns when its car is stored; concurrent calls share a commit.
    fn insert_by_threads(&mut self) -> Result<()> {
        let (cars, next) = (&self.cars, self.cars.next_key()?);
        let timing = run_threads(THREADS, INSERTS_OF_A_THREAD, |thread| {
            let mut groups = Groups::new(&[], u64::MAX);
            let from = next + thread * INSERTS_OF_A_THREAD;
            (from..from + INSERTS_OF_A_THREAD).try_for_each(|number| {
                cars.insert(groups.car(number))?;
                Ok(())
            })
        })?;
        let added = self.cars.next_key()? - next;
        expect_right(added == THREADS * INSERTS_OF_A_THREAD, "add by threads")?;
        let peers = self.figures("add", self.size);
        let row = self
            .row(format!("add by {THREADS} threads"), self.size)
            .timed(&timing)
            .peers(peers);
        self.output
            .add_row(&row.note("per car, over all threads; concurrent calls share a commit"))?;
        self.documents.flush()?;
        Ok(())
    }

    /// Loads the cache from the store: time, and memory as a multiple of the JSON of the documents.
    fn load_cache(&mut self) -> Result<()> {
        let (documents, count) = (&self.documents, self.cars.count()?);
        let json = memory::json_bytes(&self.cars)?;
        let typed = memory::load(|| Ok(cars(Policy::Cached).open(documents)?))?;
        let text = memory::load_text(documents, count)?;
        let times = |bytes: u64| bytes as f64 / json as f64;
        let row = self.row("load the cache", count).timed(&typed.timing);
        self.output.add_row(&row.note(format!(
            "memory of {} MB of JSON with three indexes: typed x{:.2}, as JSON text x{:.2}",
            json / 1_000_000,
            times(typed.bytes),
            times(text.bytes)
        )))
    }
}

fn expect_right(is_right: bool, what: &str) -> Result<()> {
    if is_right {
        return Ok(());
    }
    Err(Failure::data(format!("{what}: wrong result")))
}
