//! Runs the requested suites.

use espalier_keyspace::Policy;

use super::options::{Bench, Durability, Suite};
use crate::clixon::{self, Clixon};
use crate::configuration::Configuration;
use crate::cps::{self, Cps};
use crate::dodb::{self, Dodb};
use crate::engine::{self, Engine};
use crate::field::{self, Case, Field};
use crate::load::{self, Choice, Load};
use crate::output::{Destination, Output};
use crate::processes::{self, Processes};
use crate::report::rows_of;
use crate::scale::{self, Scale};
use crate::sysrepo::{self, Sysrepo};
use crate::telemetry::{self, Telemetry};
use crate::trifle::{self, Trifle};
use espalier_terminal::output_file::Existing;
use espalier_terminal::{Failure, Result};

/// The default sizes of `all`.
const SIZES_OF_ALL: [u64; 2] = [1_000, 10_000];

/// The default numbers of series of `telemetry`, and in `all`.
const SERIES: [u64; 1] = [10_000];
const SERIES_OF_ALL: [u64; 1] = [1_000];

/// The default number of calls of each series of `telemetry`, a day, and in `all`.
const MINUTES: u64 = 1440;
const MINUTES_OF_ALL: u64 = 60;

/// The smallest collection with partitions as large as those that DODB publishes.
const PUBLISHED_FROM: u64 = 50_000;

/// The policies that DODB has.
const DODB_POLICIES: [&str; 4] = ["ram", "cached", "indexed", "uncached"];

impl Bench {
    /// Runs the suites and writes the results.
    pub fn run(&self) -> Result<()> {
        if self.part {
            return processes::run_processes_worker();
        }
        self.check()?;
        let mut output = Output::new(Destination {
            json: self.json.clone(),
            html: self.html.clone(),
            markdown: self.markdown.clone(),
            baseline: self.baseline.clone(),
            repeat: self.repeat as usize,
            existing: Existing::of(self.force),
        })?;
        for file in &self.from {
            output.add_rows(rows_of(file)?);
        }
        for pass in 0..self.repeat as usize {
            output.begin_pass(pass);
            for suite in self.suites() {
                self.suite(suite, &mut output)?;
            }
        }
        output.finish()
    }

    /// The selected suites, in the given order, each once.
    fn suites(&self) -> Vec<Suite> {
        let mut suites = Vec::new();
        for named in &self.suites {
            let included = match named {
                Suite::All => Suite::EACH.to_vec(),
                suite => vec![*suite],
            };
            suites.extend(included);
        }
        let mut distinct = Vec::new();
        suites.retain(|suite| {
            !distinct.contains(suite) && {
                distinct.push(*suite);
                true
            }
        });
        suites
    }

    /// Rejects an option that none of the selected suites accepts.
    fn check(&self) -> Result<()> {
        let suites = self.suites();
        let has_any_of = |accepted: &[Suite]| suites.iter().any(|suite| accepted.contains(suite));
        let has_other_than =
            |excluded: &[Suite]| suites.iter().any(|suite| !excluded.contains(suite));
        let is_load = has_any_of(&[Suite::Load]);
        let options = [
            (
                !self.policies.is_empty(),
                "--policies",
                has_other_than(&[Suite::Scale]),
            ),
            (
                !self.durability.is_empty(),
                "--durability",
                has_other_than(&[Suite::Scale, Suite::Dodb]),
            ),
            (
                !self.rows.is_empty(),
                "--rows",
                has_any_of(&[Suite::Sysrepo, Suite::Drivers]),
            ),
            (
                !self.cases.is_empty(),
                "--cases",
                has_any_of(&[Suite::Field]),
            ),
            (
                self.minutes.is_some(),
                "--minutes",
                has_any_of(&[Suite::Telemetry]),
            ),
            (
                !self.matches.is_empty(),
                "--matches",
                has_any_of(&[Suite::Dodb]),
            ),
            (!self.clients.is_empty(), "--clients", is_load),
            (!self.writes.is_empty(), "--writes", is_load),
            (!self.choices.is_empty(), "--choices", is_load),
            (!self.trees.is_empty(), "--trees", is_load),
            (self.seconds.is_some(), "--seconds", is_load),
        ];
        for (is_given, option, is_accepted) in options {
            if is_given && !is_accepted {
                return Err(Failure::usage(format!(
                    "{option} is not an option of these suites"
                )));
            }
        }
        Ok(())
    }

    fn suite(&self, suite: Suite, output: &mut Output) -> Result<()> {
        match suite {
            Suite::All => Ok(()),
            Suite::Scale => self.scale(output),
            Suite::Field => {
                let cases = match self.cases.as_slice() {
                    [] => Case::ALL.to_vec(),
                    cases => cases.to_vec(),
                };
                let sizes = match self.is_all() {
                    true => self.sizes(&SIZES_OF_ALL),
                    false => self.sizes(&[]),
                };
                let configurations =
                    self.configurations("embedded", &["uncached"], &[Durability::Relaxed])?;
                let field = Field {
                    cases,
                    sizes,
                    configurations,
                };
                field::run(&field, output)
            }
            Suite::Sysrepo | Suite::Drivers => self.sysrepo(suite, output),
            Suite::Clixon => {
                let both = [Durability::Relaxed, Durability::Durable];
                let clixon = Clixon {
                    sizes: self.sizes(&[100, 1_000, 10_000, 100_000]),
                    configurations: self.configurations("embedded", &["uncached"], &both)?,
                };
                clixon::run(&clixon, output)
            }
            Suite::Cps => self.cps(output),
            Suite::Dodb => self.dodb(output),
            Suite::Trifle => {
                let both = [Durability::Relaxed, Durability::Durable];
                let trifle = Trifle {
                    counts: ascending(&self.counts),
                    configurations: self.configurations("all", &["uncached"], &both)?,
                };
                trifle::run(&trifle, output)
            }
            Suite::Telemetry => self.telemetry(output),
            Suite::Load => load::run(&self.load()?, output),
            Suite::Processes => {
                let policies = ["uncached", "cached"];
                let processes = Processes {
                    sizes: self.sizes(&[1_000]),
                    configurations: self.configurations(
                        "all",
                        &policies,
                        &[Durability::Durable],
                    )?,
                };
                processes::run(&processes, output)
            }
        }
    }

    fn telemetry(&self, output: &mut Output) -> Result<()> {
        let minutes = if self.is_all() {
            MINUTES_OF_ALL
        } else {
            MINUTES
        };
        let telemetry = Telemetry {
            sizes: match self.is_all() {
                true => self.sizes(&SERIES_OF_ALL),
                false => self.sizes(&SERIES),
            },
            minutes: self.minutes.unwrap_or(minutes),
            configurations: self.configurations(
                "embedded",
                &["uncached"],
                &[Durability::Relaxed],
            )?,
        };
        telemetry::run(&telemetry, output)
    }

    fn load(&self) -> Result<Load> {
        let both = [Durability::Relaxed, Durability::Durable];
        let given_or = |given: &[u64], all: &[u64], other: &[u64]| match given {
            [] if self.is_all() => all.to_vec(),
            [] => other.to_vec(),
            given => given.to_vec(),
        };
        Ok(Load {
            clients: given_or(&self.clients, &[1, 64], &[1, 8, 64, 1024]),
            writes: given_or(&self.writes, &[0, 100], &[0, 10, 100]),
            trees: given_or(&self.trees, &[1], &[1]),
            choices: match self.choices.as_slice() {
                [] => vec![Choice::Uniform],
                choices => choices.to_vec(),
            },
            seconds: self.seconds.unwrap_or(if self.is_all() { 2 } else { 5 }),
            sizes: match self.sizes.as_slice() {
                [] => vec![10_000],
                sizes => ascending(sizes),
            },
            configurations: self.configurations("embedded", &["uncached"], &both)?,
        })
    }

    fn is_all(&self) -> bool {
        self.suites.contains(&Suite::All)
    }

    fn scale(&self, output: &mut Output) -> Result<()> {
        let engine = match self.embedded_or_memory()? {
            Some(engine) => engine,
            None if self.is_all() => Engine::embedded(),
            None => {
                return Err(Failure::usage(
                    "scale measures only embedded, embedded:DIR or memory; drivers measures every engine",
                ));
            }
        };
        let scale = Scale {
            sizes: self.sizes(&[1_000, 10_000, 100_000, 1_000_000]),
            folder: match engine {
                Engine::Local { parent, .. } => Some(parent),
                _ => None,
            },
        };
        scale::run(&scale, output)
    }

    fn sysrepo(&self, suite: Suite, output: &mut Output) -> Result<()> {
        let both = [Durability::Relaxed, Durability::Durable];
        let (name, configurations) = match suite {
            Suite::Drivers => {
                let policies = ["uncached", "cached"];
                (
                    "drivers",
                    self.configurations("all", &policies, &[Durability::Durable])?,
                )
            }
            _ => (
                "sysrepo",
                self.configurations("memory,embedded", &["uncached"], &both)?,
            ),
        };
        let sysrepo = Sysrepo {
            suite: name,
            sizes: self.sizes(&[1_000, 10_000, 100_000]),
            configurations,
            rows: self.rows.clone(),
        };
        sysrepo::run(&sysrepo, output)
    }

    fn cps(&self, output: &mut Output) -> Result<()> {
        let mut sizes = self.sizes(&[1_000]);
        let size_max = cps::DEVICES_MAX;
        if self.is_all() {
            sizes.retain(|&size| size <= size_max);
        }
        if let Some(size) = sizes.iter().find(|&&size| size > size_max) {
            return Err(Failure::usage(format!(
                "--sizes {size}: cps has {size_max} devices at most (DEVICES_MAX)"
            )));
        }
        let cps = Cps {
            sizes,
            configurations: self.configurations(
                "embedded",
                &["uncached"],
                &[Durability::Durable],
            )?,
        };
        cps::run(&cps, output)
    }

    fn dodb(&self, output: &mut Output) -> Result<()> {
        let policies = match self.policies.as_slice() {
            [] => DODB_POLICIES.map(str::to_owned).to_vec(),
            policies => policies.to_vec(),
        };
        let policies = policies.iter().map(|text| text.parse());
        let sizes = self.sizes(&[50_000, 100_000, 150_000, 200_000, 250_000]);
        let size_max = sizes.last().copied().unwrap_or(0);
        let matches = match self.matches.as_slice() {
            [] if size_max >= PUBLISHED_FROM => vec![1_000, 2_000, 3_000, 4_000, 5_000, 10_000],
            [] => vec![(size_max / 100).max(1), (size_max / 10).max(1)],
            matches => matches.to_vec(),
        };
        let engines = match self.is_all() {
            // All engines would take as long as all other suites together.
            true => {
                let engine = self.embedded_or_memory()?;
                vec![engine.unwrap_or_else(Engine::embedded)]
            }
            false => self.engines("embedded")?,
        };
        let dodb = Dodb {
            sizes,
            matches: ascending(&matches),
            policies: policies.collect::<espalier_documents::Result<_>>()?,
            configurations: engines.into_iter().map(Configuration::relaxed).collect(),
        };
        dodb::run(&dodb, output)
    }

    /// The sizes given, otherwise the defaults; fewer for `all`.
    fn sizes(&self, defaults: &[u64]) -> Vec<u64> {
        ascending(match self.sizes.as_slice() {
            [] if self.is_all() => &SIZES_OF_ALL,
            [] => defaults,
            sizes => sizes,
        })
    }

    /// The engines given, otherwise the defaults.
    fn engines(&self, defaults: &str) -> Result<Vec<Engine>> {
        match self.drivers.as_slice() {
            [] => Engine::list(defaults),
            lists => {
                let engines: Result<Vec<_>> = lists.iter().map(|list| Engine::list(list)).collect();
                Ok(engines?.into_iter().flatten().collect())
            }
        }
    }

    /// The engine, if it is a single one that is embedded (the default) or memory.
    fn embedded_or_memory(&self) -> Result<Option<Engine>> {
        Ok(match self.engines("embedded")?.as_slice() {
            [engine] if matches!(engine.scheme(), "embedded" | "memory") => Some(engine.clone()),
            _ => None,
        })
    }

    /// The given engines, policies and durabilities in all combinations; each has a default.
    fn configurations(
        &self,
        engines: &str,
        policies: &[&str],
        durabilities: &[Durability],
    ) -> Result<Vec<Configuration>> {
        let policies: Vec<&str> = match self.policies.as_slice() {
            [] => policies.to_vec(),
            named => named.iter().map(String::as_str).collect(),
        };
        let policies: Result<Vec<Policy>> = policies.into_iter().map(policy).collect();
        let durabilities = match self.durability.as_slice() {
            [] => durabilities,
            named => named,
        };
        let durabilities: Vec<_> = durabilities
            .iter()
            .map(|durability| match durability {
                Durability::Durable => engine::Durability::Durable,
                Durability::Relaxed => engine::Durability::Relaxed,
            })
            .collect();
        Ok(Configuration::all(
            &self.engines(engines)?,
            &policies?,
            &durabilities,
        ))
    }
}

/// Parses a policy. `ram` is rejected: it never commits to the engine below, so it would measure the memory driver
/// only.
fn policy(name: &str) -> Result<Policy> {
    let policy = Policy::named(name).filter(|policy| *policy != Policy::Ram);
    policy.ok_or_else(|| {
        Failure::usage(format!(
            "this suite does not measure the policy {name:?}; use uncached, indexed, recent or cached"
        ))
    })
}

fn ascending(sizes: &[u64]) -> Vec<u64> {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}
