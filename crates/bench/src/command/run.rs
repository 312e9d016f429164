//! Running the suites that are asked for.

use espalier_keyspace::Policy;

use super::options::{Bench, Durability, Suite};
use crate::clixon::{self, Clixon};
use crate::configuration::Configuration;
use crate::cps::{self, Cps};
use crate::dodb::{self, Dodb};
use crate::engine::{self, Engine};
use crate::field::{self, Case, Field};
use crate::output::{Destination, Output};
use crate::processes::{self, Processes};
use crate::report::rows_of;
use crate::scale::{self, Scale};
use crate::sysrepo::{self, Sysrepo};
use crate::trifle::{self, Trifle};
use espalier_terminal::output_file::Existing;
use espalier_terminal::{Failure, Result};

/// Sizes of `all`, where none are given.
const SIZES_OF_ALL: [u64; 2] = [1_000, 10_000];

/// The first size at which partitions are as large as those that DODB publishes.
const PUBLISHED_FROM: u64 = 50_000;

/// The policies that DODB has.
const DODB_POLICIES: [&str; 4] = ["ram", "cached", "indexed", "uncached"];

impl Bench {
    /// Runs it.
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
            output.earlier(rows_of(file)?);
        }
        for pass in 0..self.repeat as usize {
            output.begin_pass(pass);
            for suite in self.suites() {
                self.suite(suite, &mut output)?;
            }
        }
        output.finish()
    }

    /// The suites in the order that they are named in.
    fn suites(&self) -> Vec<Suite> {
        let mut suites = Vec::new();
        for named in &self.suites {
            let meant = match named {
                Suite::All => Suite::EACH.to_vec(),
                suite => vec![*suite],
            };
            suites.extend(meant);
        }
        let mut seen = Vec::new();
        suites.retain(|suite| {
            !seen.contains(suite) && {
                seen.push(*suite);
                true
            }
        });
        suites
    }

    /// Refuses an option that none of the suites has.
    fn check(&self) -> Result<()> {
        let suites = self.suites();
        let of = |wanted: &[Suite]| suites.iter().any(|suite| wanted.contains(suite));
        let beside = |others: &[Suite]| suites.iter().any(|suite| !others.contains(suite));
        let needs = [
            (
                !self.policies.is_empty(),
                "--policies",
                beside(&[Suite::Scale]),
            ),
            (
                !self.durability.is_empty(),
                "--durability",
                beside(&[Suite::Scale, Suite::Dodb]),
            ),
            (
                !self.rows.is_empty(),
                "--rows",
                of(&[Suite::Sysrepo, Suite::Drivers]),
            ),
            (!self.cases.is_empty(), "--cases", of(&[Suite::Field])),
            (!self.matches.is_empty(), "--matches", of(&[Suite::Dodb])),
        ];
        for (is_given, option, is_taken) in needs {
            if is_given && !is_taken {
                return Err(Failure::usage(format!(
                    "{option} is of none of these suites"
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

    fn is_all(&self) -> bool {
        self.suites.contains(&Suite::All)
    }

    fn scale(&self, output: &mut Output) -> Result<()> {
        let engine = match self.embedded_or_memory()? {
            Some(engine) => engine,
            None if self.is_all() => Engine::embedded(),
            None => {
                return Err(Failure::usage(
                    "scale measures embedded, embedded:DIR or memory; drivers measures every engine",
                ));
            }
        };
        let scale = Scale {
            sizes: self.sizes(&[1_000, 10_000, 100_000, 1_000_000]),
            folder: match engine {
                Engine::Local { below, .. } => Some(below),
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
        let most = cps::DEVICES_MAX;
        if self.is_all() {
            sizes.retain(|&size| size <= most);
        }
        if let Some(size) = sizes.iter().find(|&&size| size > most) {
            return Err(Failure::usage(format!(
                "--sizes {size}: cps has {most} devices at most (DEVICES_MAX)"
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
        let most = sizes.last().copied().unwrap_or(0);
        let matches = match self.matches.as_slice() {
            [] if most >= PUBLISHED_FROM => vec![1_000, 2_000, 3_000, 4_000, 5_000, 10_000],
            [] => vec![(most / 100).max(1), (most / 10).max(1)],
            matches => matches.to_vec(),
        };
        let engines = match self.is_all() {
            // With each engine it takes as long as all other suites.
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

    /// The sizes that are asked for, else these; fewer for `all`.
    fn sizes(&self, own: &[u64]) -> Vec<u64> {
        ascending(match self.sizes.as_slice() {
            [] if self.is_all() => &SIZES_OF_ALL,
            [] => own,
            sizes => sizes,
        })
    }

    /// The engines that are asked for, else these.
    fn engines(&self, own: &str) -> Result<Vec<Engine>> {
        match self.drivers.as_slice() {
            [] => Engine::list(own),
            lists => {
                let engines: Result<Vec<_>> = lists.iter().map(|list| Engine::list(list)).collect();
                Ok(engines?.into_iter().flatten().collect())
            }
        }
    }

    /// The one engine that is asked for, where it is the embedded one, which is the default, or memory.
    fn embedded_or_memory(&self) -> Result<Option<Engine>> {
        Ok(match self.engines("embedded")?.as_slice() {
            [engine] if matches!(engine.scheme(), "embedded" | "memory") => Some(engine.clone()),
            _ => None,
        })
    }

    /// The engines with the policies and durabilities that are asked for, else these.
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

/// `ram` is the memory driver, whatever lies below: it never commits to it.
fn policy(name: &str) -> Result<Policy> {
    let policy = Policy::named(name).filter(|policy| *policy != Policy::Ram);
    policy.ok_or_else(|| {
        Failure::usage(format!(
            "{name:?} is no policy that this suite measures; write uncached, indexed, recent or cached"
        ))
    })
}

fn ascending(sizes: &[u64]) -> Vec<u64> {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}
