//! `espalier serve` in a process of its own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::memory::private_bytes;
use crate::model_store::NAME;
use espalier_terminal::{Failure, Result};

/// A server, killed when dropped.
pub struct ServerProcess {
    child: Child,
    /// Its address.
    pub address: SocketAddr,
}

impl ServerProcess {
    /// Serves the store at a URL on a free port of the loopback interface.
    pub fn start(url: &str) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ESPALIER_") {
                command.env_remove(name);
            }
        }
        let arguments = [
            "serve",
            "--json",
            "--log",
            "warn",
            "--listen",
            "127.0.0.1:0",
        ];
        let mut child = command
            .args(arguments)
            .args(["--dataspace", NAME, "--anchor", NAME])
            // Not an argument: the URL of an engine can have a password in it.
            .env("ESPALIER_STORE", url)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let output = child.stdout.take();
        let read = output.map(|output| BufReader::new(output).read_line(&mut line));
        let address = read.transpose().ok().and_then(|_| address_in(&line));
        match address {
            Some(address) => Ok(Self { child, address }),
            None => {
                // It may have ended already.
                let _ = child.kill();
                let _ = child.wait();
                Err(Failure::data("the server did not start"))
            }
        }
    }

    /// Its private memory in bytes.
    pub fn memory(&self) -> u64 {
        private_bytes(self.child.id())
    }

    /// Its processor time so far; zero if the system does not report it.
    pub fn cpu_time(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        let stat = stat.unwrap_or_default();
        // The name of the program, in parentheses, may have spaces in it.
        let fields = stat.rsplit(')').next().unwrap_or_default();
        let ticks = fields.split_whitespace().skip(11).take(2);
        let ticks: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
        let per_second = rustix::param::clock_ticks_per_second();
        Duration::from_secs_f64(ticks as f64 / per_second as f64)
    }
}

fn address_in(line: &str) -> Option<SocketAddr> {
    let answer: Value = serde_json::from_str(line).ok()?;
    let url = answer["url"].as_str()?;
    url.strip_prefix("http://")?.parse().ok()
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
