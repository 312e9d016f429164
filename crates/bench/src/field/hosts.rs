//! Data with a constraint of each kind: leafref, `must`, `when` and `unique`.

use espalier_yang::InstancePath;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::report::{Change, Report};
use crate::dataset::expect;
use crate::generated_document::GeneratedDocument;
use crate::model_store::{Model, ModelStore};
use espalier_terminal::Result;

/// The model.
pub const MODEL: Model = Model {
    name: "espalier-bench-hosts",
    text: include_str!("../models/espalier-bench-hosts.yang"),
};

const LIST: &str = "/espalier-bench-hosts:hosts/host";

/// The number of sites.
pub const SITES: u64 = 100;

/// The seed: every run chooses the same entries.
const SEED: u64 = 0x686f_7374_735f_7365;

/// A store with hosts.
pub struct Hosts {
    /// The store.
    pub store: ModelStore,
    size: u64,
    random: StdRng,
}

impl Hosts {
    /// Opens a store and loads `size` hosts.
    pub fn load(report: &Report<'_>, size: u64) -> Result<Self> {
        let store = report.store(MODEL)?;
        store.load(document(size))?;
        let found = store.count(LIST)?;
        expect(found == size, || format!("{found} hosts"))?;
        Ok(Self {
            store,
            size,
            random: StdRng::seed_from_u64(SEED),
        })
    }

    /// The number of hosts.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Chooses a host at random.
    pub fn choose(&mut self) -> u64 {
        self.random.random_range(0..self.size)
    }

    /// The path of a leaf.
    pub fn leaf(number: u64, name: &str) -> String {
        leaf(number, name)
    }

    /// The path of a host.
    pub fn path(&self, number: u64) -> Result<InstancePath> {
        self.store.path(&format!("{LIST}[name='{}']", name(number)))
    }

    /// Changes of the leaf `port`, which a `must`, a `when` and a `unique` read.
    pub fn port_changes(&mut self, count: u64) -> Result<Vec<Change>> {
        (0..count)
            .map(|n| {
                let path = Self::leaf(self.choose(), "port");
                Change::set(&self.store, &path, &(100_000 + n).to_string())
            })
            .collect()
    }

    /// Changes of the leaf `site`, which is a leafref.
    pub fn site_changes(&mut self, count: u64) -> Result<Vec<Change>> {
        (0..count)
            .map(|n| {
                let path = Self::leaf(n * 7919 % self.size, "site");
                let round = 1 + n / self.size;
                let site = (n * 7919 % self.size + round) % SITES;
                Change::set(&self.store, &path, &format!("site-{site}"))
            })
            .collect()
    }
}

/// The path of a leaf of a host.
pub fn leaf(number: u64, leaf: &str) -> String {
    format!("{LIST}[name='{}']/{leaf}", name(number))
}

/// The name of a host.
pub fn name(number: u64) -> String {
    format!("host-{number:08}")
}

/// The document of `size` hosts.
pub fn document(size: u64) -> GeneratedDocument<'static> {
    let sites = (0..SITES).map(|n| format!(r#"{{"name":"site-{n}","port-max":4000000}}"#));
    let hosts = (0..size).map(|n| {
        let (name, site, port) = (name(n), n % SITES, 1_000 + n % 1_000);
        let certificate = match n % 2 {
            0 => r#","certificate":"self-signed""#,
            _ => "",
        };
        format!(
            r#"{{"name":"{name}","site":"site-{site}","address":{n},"port":{port}{certificate}}}"#
        )
    });
    let lists = vec![
        (
            r#"{"espalier-bench-hosts:hosts":{"site":["#.to_owned(),
            Box::new(sites) as crate::generated_document::List<'static>,
        ),
        (r#"],"host":["#.to_owned(), Box::new(hosts)),
    ];
    GeneratedDocument::lists(lists, "]}}")
}
