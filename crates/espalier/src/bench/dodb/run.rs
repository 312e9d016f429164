//! Measuring.

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use espalier_documents::{Collection, Documents, Index, Policy};
use espalier_keyspace::Driver;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::cars::{Car, Groups, cars, color, name, second_tag, tag};
use super::known;
use crate::bench::harness::{Plan, Timing, cpu_time, measure};
use crate::bench::output::Output;
use crate::bench::row::{On, Peer, Row};
use crate::error::{Failure, Result};

/// Documents of one commit while the collection is filled.
const BULK: u64 = 1000;

/// Queries that are timed together, as one takes less than reading the clock.
const BATCH: u64 = 100;

/// Cars that are added one by one, at most.
const SINGLE_INSERTS: u64 = 2000;

/// What to measure.
pub struct Dodb {
    /// Numbers of cars, ascending.
    pub sizes: Vec<u64>,
    /// Numbers of cars that a partition, and a tag, has.
    pub matches: Vec<u64>,
    /// The policies.
    pub policies: Vec<Policy>,
    /// Where stores are made; none for memory.
    pub folder: Option<PathBuf>,
}

/// Runs the bench. Fails at the first wrong answer.
pub fn run(dodb: &Dodb, output: &mut Output) -> Result<()> {
    for (at, &size) in dodb.sizes.iter().enumerate() {
        let is_last = at + 1 == dodb.sizes.len();
        for &policy in &dodb.policies {
            let mut bed = Bed::open(dodb, policy, size, output)?;
            bed.get()?;
            if is_last {
                bed.matching()?;
            }
            bed.insert_one_by_one()?;
        }
    }
    Ok(())
}

/// A filled collection.
struct Bed<'a> {
    output: &'a mut Output,
    policy: Policy,
    driver: &'static str,
    size: u64,
    sizes: Vec<u64>,
    documents: Documents,
    cars: Collection<Car>,
    _folder: Option<tempfile::TempDir>,
}

impl<'a> Bed<'a> {
    fn open(dodb: &Dodb, policy: Policy, size: u64, output: &'a mut Output) -> Result<Self> {
        let folder = match &dodb.folder {
            Some(folder) => Some(tempfile::tempdir_in(folder)?),
            None => None,
        };
        let url = match &folder {
            Some(folder) => format!("embedded:{}?durability=relaxed", folder.path().display()),
            None => "memory:".to_owned(),
        };
        let driver: Arc<dyn Driver> = espalier_drivers::open(&url)?;
        let name = driver.name();
        let prefix = espalier_store::Subspace::Documents.key();
        let documents = Documents::new(driver, &prefix);
        let mut groups = Groups::new(&dodb.matches, size);
        let sizes = groups.sizes();
        let cars = cars(policy).open(&documents)?;
        let mut bed = Self {
            output,
            policy,
            driver: if policy == Policy::Ram { "none" } else { name },
            size,
            sizes,
            documents,
            cars,
            _folder: folder,
        };
        bed.fill(&mut groups)?;
        Ok(bed)
    }

    fn row(&self, row: impl Into<String>, size: u64) -> Row {
        let on = On {
            driver: self.driver.to_owned(),
            policy: self.policy.as_str(),
            durability: match self.driver {
                "none" | "memory" => "none",
                _ => "relaxed",
            },
        };
        Row::new("dodb", row, on, size)
    }

    fn fill(&mut self, groups: &mut Groups) -> Result<()> {
        let mut samples = Vec::new();
        let cpu = cpu_time();
        let mut number = 0;
        while number < self.size {
            let end = (number + BULK).min(self.size);
            let some: Vec<_> = (number..end).map(|number| groups.car(number)).collect();
            let before = Instant::now();
            self.cars.insert_many(some)?;
            samples.push(before.elapsed().as_secs_f64() / (end - number) as f64);
            number = end;
        }
        let batches = samples.len() as u64;
        let timing = Timing::of(
            samples,
            cpu_time().saturating_sub(cpu) * batches as u32 / self.size as u32,
        )?;
        let peers = known::insert(self.policy, self.size);
        let row = self
            .row("add, 1000 at once", self.size)
            .timed(&timing)
            .peers(peers);
        self.output
            .row(&row.note("of one car, three indexes, all cars"))
    }

    /// The first graph: one car by index.
    fn get(&mut self) -> Result<()> {
        let mut random = StdRng::seed_from_u64(self.size);
        let index = self.cars.index("name")?;
        let numbers: Vec<u64> = (0..BATCH * 1024)
            .map(|_| random.random_range(0..self.size))
            .collect();
        let names: Vec<_> = numbers.iter().map(|number| name(*number)).collect();
        let batches = names.len() as u64 / BATCH;
        let some = |call: u64| {
            let from = ((call % batches) * BATCH) as usize;
            from..from + BATCH as usize
        };
        let timing = measure(
            Plan::many(1000),
            |call| {
                let mut found = Vec::with_capacity(BATCH as usize);
                for name in &names[some(call)] {
                    found.push(black_box(index.get(name.as_str())?));
                }
                Ok(found)
            },
            |call, found| {
                let wanted = names[some(call)].iter();
                let is_right = wanted
                    .zip(&found)
                    .all(|(name, car)| car.as_ref().is_some_and(|car| car.name == *name));
                right(is_right, "get by index")
            },
        )?;
        let row = self
            .row("get by index", self.size)
            .timed(&timing.part(BATCH));
        let row = row.peers(known::get(self.policy, self.size));
        self.output
            .row(&row.note(format!("{BATCH} random cars at once, each on average")))
    }

    /// The second and the third graph: all cars of a partition, of a tag, of two tags.
    fn matching(&mut self) -> Result<()> {
        let (color_index, keyword) = (self.cars.index("color")?, self.cars.index("keyword")?);
        for matching in self.sizes.clone() {
            let peers = known::partition(self.policy, matching);
            let of_color = color(matching);
            self.find("partition", matching, peers, &color_index, |index| {
                Ok(index.find(of_color.as_str())?)
            })?;
            let peers = known::tag(self.policy, matching);
            let of_tag = tag(matching);
            self.find("tag", matching, peers, &keyword, |index| {
                Ok(index.find(of_tag.as_str())?)
            })?;
            let peers = known::two_tags(self.policy, matching);
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
            Plan::many(50),
            |_| find(index),
            |_, found| {
                let is_right = found.len() as u64 == matching
                    && found.iter().all(|(_, car)| car.color == color(matching));
                right(is_right, row)
            },
        )?;
        let row = self.row(row, matching).timed(&timing).peers(peers);
        self.output
            .row(&row.note(format!("among {} cars", self.size)))
    }

    fn insert_one_by_one(&mut self) -> Result<()> {
        let mut groups = Groups::new(&[], u64::MAX);
        let size = self.size;
        let timing = measure(
            Plan::many(SINGLE_INSERTS),
            |call| Ok(self.cars.insert(groups.car(size + call))?),
            |call, key| right(key == size + call, "add"),
        )?;
        let peers = known::insert(self.policy, self.size);
        let row = self.row("add", self.size).timed(&timing).peers(peers);
        self.output
            .row(&row.note("three indexes, six entries, a commit each"))?;
        self.documents.flush()?;
        Ok(())
    }
}

fn right(is_right: bool, what: &str) -> Result<()> {
    if is_right {
        return Ok(());
    }
    Err(Failure::data(format!("{what}: the answer is wrong")))
}
