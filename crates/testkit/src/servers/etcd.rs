//! An etcd cluster of three servers, or a single server.

use std::io::{Read, Write};
use std::iter::repeat_with;
use std::net::TcpStream;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::enabled::is_wanted;
use super::ports::free_port;
use super::process::{IN_MEMORY, Launch, NewDirectory, Process, Signal, wait_until};

const NAME: &str = "etcd";

/// Number of servers: one may fail.
const MEMBERS: usize = 3;

/// Timeout of a request.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The quota of one test run: 8 GiB, because nothing is compacted.
const QUOTA_BYTES: u64 = 8 << 30;

/// A running etcd.
pub struct Etcd {
    members: Vec<Process>,
    ports: Vec<u16>,
    /// The metrics port of each server, without TLS and passwords.
    metrics: Vec<u16>,
    names: AtomicU64,
}

impl Etcd {
    /// The cluster that all tests of this binary share. `None` if the run excludes etcd.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Etcd> = OnceLock::new();
        is_wanted(NAME).then(|| SHARED.get_or_init(|| Self::launch(MEMBERS, IN_MEMORY, &[])))
    }

    /// A cluster of its own.
    pub fn start() -> Option<Self> {
        is_wanted(NAME).then(|| Self::launch(MEMBERS, IN_MEMORY, &[]))
    }

    /// Like [`Self::start`], with its data on the disk.
    pub fn start_on_disk() -> Option<Self> {
        is_wanted(NAME).then(|| Self::launch(MEMBERS, Process::directory, &[]))
    }

    /// A single server, with further command line options of `etcd`, such as `--cert-file=FILE` and
    /// `--key-file=FILE` for TLS.
    pub fn start_one(options: &[&str]) -> Option<Self> {
        is_wanted(NAME).then(|| Self::launch(1, IN_MEMORY, options))
    }

    fn launch(count: usize, directory: NewDirectory, options: &[&str]) -> Self {
        let ports: Vec<_> = repeat_with(free_port).take(3 * count).collect();
        let (clients, others) = ports.split_at(count);
        let (peers, metrics) = others.split_at(count);
        let is_secured = options
            .iter()
            .any(|option| option.starts_with("--cert-file"));
        let client_scheme = if is_secured { "https" } else { "http" };
        let address = |port: &u16| format!("http://127.0.0.1:{port}");
        let named = peers.iter().enumerate();
        let cluster: Vec<_> = named
            .map(|(number, port)| format!("m{number}={}", address(port)))
            .collect();
        let members = (0..count).map(|number| {
            let client = format!("{client_scheme}://127.0.0.1:{}", clients[number]);
            let peer = address(&peers[number]);
            let launch = Launch::new(NAME, "etcd").arguments([
                format!("--name=m{number}"),
                "--data-dir=data".to_owned(),
                format!("--listen-client-urls={client}"),
                format!("--advertise-client-urls={client}"),
                format!("--listen-metrics-urls={}", address(&metrics[number])),
                format!("--listen-peer-urls={peer}"),
                format!("--initial-advertise-peer-urls={peer}"),
                format!("--initial-cluster={}", cluster.join(",")),
                format!("--initial-cluster-token=test{}", peers[0]),
                format!("--quota-backend-bytes={QUOTA_BYTES}"),
                "--log-level=warn".to_owned(),
            ]);
            let launch = launch.arguments(options.iter().copied());
            // No server is ready before the others run.
            Process::start(launch, directory(NAME), || Ok(()))
        });
        let etcd = Self {
            members: members.collect(),
            ports: clients.to_vec(),
            metrics: metrics.to_vec(),
            names: AtomicU64::new(0),
        };
        etcd.wait_healthy();
        etcd
    }

    /// Waits until every running server is healthy.
    pub fn wait_healthy(&self) {
        for (port, member) in self.metrics.iter().zip(&self.members) {
            let healthy = || match get(*port, "/health") {
                Ok(text) if text.contains("true") => Ok(()),
                Ok(text) => Err(text),
                Err(error) => Err(error.to_string()),
            };
            if let Err(problem) = wait_until(healthy) {
                panic!("etcd does not start: {problem}\n{}", member.log());
            }
        }
    }

    /// The URL of an empty key space, with options for the driver.
    pub fn url(&self, options: &str) -> String {
        let number = self.names.fetch_add(1, Ordering::Relaxed);
        format!("{}/test{number}?{options}", self.base())
    }

    /// The URL of the servers, without a prefix.
    pub fn base(&self) -> String {
        let hosts = self.ports.iter().map(|port| format!("127.0.0.1:{port}"));
        let hosts: Vec<_> = hosts.collect();
        format!("etcd://{}", hosts.join(","))
    }

    /// The ports that the servers listen on.
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// The servers, for fault injection.
    pub fn members(&self) -> &[Process] {
        &self.members
    }

    /// The index of the leader.
    pub fn leader(&self) -> usize {
        let mut leader = None;
        let found = wait_until(|| {
            leader = self.metrics.iter().position(|port| {
                let metrics = get(*port, "/metrics").unwrap_or_default();
                metrics.contains("\netcd_server_is_leader 1")
            });
            leader.map(drop).ok_or_else(|| "no leader".to_owned())
        });
        found.expect("a leader");
        leader.expect("a leader was found")
    }

    /// Runs `etcdctl` on the first server, and returns what it prints.
    pub fn control(&self, arguments: &[&str]) -> String {
        let mut control = Command::new("etcdctl");
        control.env("ETCDCTL_API", "3");
        control.arg(format!("--endpoints=127.0.0.1:{}", self.ports[0]));
        let output = control.args(arguments).output().expect("etcdctl starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Stops a server with a signal and starts it again; on return all are healthy.
    pub fn restart(&self, number: usize, signal: Signal) {
        self.members[number].restart(signal, || Ok(()));
        self.wait_healthy();
    }
}

fn get(port: u16, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(RESPONSE_TIMEOUT))?;
    let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}
