//! What the clients of a row request.

use std::fmt;

use clap::ValueEnum;
use rand::Rng;
use rand::rngs::StdRng;

use crate::field::host_name;
use crate::model_store::NAME;

/// Of this many hosts, one is requested often if the choice is skewed.
const HOSTS_FOR_EACH_HOT: u64 = 100;

/// The percentage of the requests that go to such a host.
const HOT_PERCENT: u64 = 90;

/// How the clients choose hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Choice {
    /// Each host is as likely as any other
    Uniform,
    /// Nine requests of ten go to one host in a hundred
    Skewed,
}

/// What the clients of a row do.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// The number of clients, each with a connection.
    pub clients: u64,
    /// The percentage of the requests that write.
    pub writes: u64,
    /// How they choose hosts.
    pub choice: Choice,
    /// The number of anchors that they use.
    pub trees: u64,
    /// The number of hosts in each.
    pub size: u64,
}

/// A request of a client.
#[derive(Debug)]
pub enum Request {
    /// GET of a host.
    Read {
        /// The resource.
        path: String,
        /// Part of every correct response.
        expected: String,
    },
    /// PATCH of a leaf of a host.
    Write {
        /// The resource.
        path: String,
        /// The body.
        body: String,
    },
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.writes {
            0 => "reads".to_owned(),
            100 => "writes".to_owned(),
            percent => format!("{percent} % writes"),
        };
        let plural = if self.clients == 1 { "" } else { "s" };
        write!(f, "{kind}, {} client{plural}", self.clients)?;
        if self.choice == Choice::Skewed {
            f.write_str(", skewed")?;
        }
        if self.trees > 1 {
            write!(f, ", {} trees", self.trees)?;
        }
        Ok(())
    }
}

impl Workload {
    /// The next request of a client. `value` is a new value, which no request had before.
    pub fn request(&self, random: &mut StdRng, value: u64) -> Request {
        let host = host_name(self.host(random));
        let tree = random.random_range(0..self.trees);
        let path = format!(
            "{}/data/espalier-bench-hosts:hosts/host={host}",
            restconf_root(tree)
        );
        if random.random_range(0..100) < self.writes {
            return Request::Write {
                path: format!("{path}/address"),
                body: format!(r#"{{"espalier-bench-hosts:address":{value}}}"#),
            };
        }
        Request::Read {
            path,
            expected: format!(r#""name":"{host}""#),
        }
    }

    fn host(&self, random: &mut StdRng) -> u64 {
        let is_hot = self.choice == Choice::Skewed && random.random_range(0..100) < HOT_PERCENT;
        match is_hot {
            true => random.random_range(0..(self.size / HOSTS_FOR_EACH_HOT).max(1)),
            false => random.random_range(0..self.size),
        }
    }
}

/// The name of the anchor with a number.
pub fn anchor_name(tree: u64) -> String {
    match tree {
        0 => NAME.to_owned(),
        tree => format!("{NAME}-{tree}"),
    }
}

/// The RESTCONF root of an anchor. The first one is the default anchor.
pub fn restconf_root(tree: u64) -> String {
    match tree {
        0 => "/restconf".to_owned(),
        tree => format!("/dataspaces/{NAME}/anchors/{}/restconf", anchor_name(tree)),
    }
}
