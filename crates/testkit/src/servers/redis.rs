//! A Redis server.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::enabled::is_wanted;
use super::ports::free_port;
use super::process::{Launch, Process, Signal, wait_until};

const NAME: &str = "redis";

/// Timeout of a request.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A running Redis server.
pub struct Redis {
    process: Process,
    port: u16,
    names: AtomicU64,
}

impl Redis {
    /// The server that all tests of this binary share; it stores nothing on disk. `None` if the run
    /// excludes it.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Redis> = OnceLock::new();
        is_wanted(NAME).then(|| SHARED.get_or_init(|| Self::launch(&["--appendonly", "no"])))
    }

    /// A Cluster of one server, shared likewise.
    pub fn shared_cluster() -> Option<&'static Self> {
        static SHARED: OnceLock<Redis> = OnceLock::new();
        is_wanted(NAME).then(|| {
            SHARED.get_or_init(|| {
                let redis = Self::launch(&["--cluster-enabled", "yes"]);
                redis.command("CLUSTER ADDSLOTSRANGE 0 16383");
                let serving = || match redis.command("GET key").as_str() {
                    "$-1" => Ok(()),
                    response => Err(response.to_owned()),
                };
                wait_until(serving).expect("the Cluster is ready");
                redis
            })
        })
    }

    /// A server of its own, with further command line options of `redis-server`.
    pub fn start(options: &[&str]) -> Option<Self> {
        is_wanted(NAME).then(|| Self::launch(options))
    }

    fn launch(options: &[&str]) -> Self {
        let port = free_port();
        let dir = Process::directory(NAME);
        let number = port.to_string();
        let fixed = ["--port", &number, "--bind", "127.0.0.1", "--save", ""];
        let launch = Launch::new(NAME, "redis-server")
            .arguments(fixed)
            .arguments(options.iter().copied());
        let process = Process::start(launch, dir, || ready(port));
        let names = AtomicU64::new(0);
        Self {
            process,
            port,
            names,
        }
    }

    /// The URL of an empty key space in this server, with options for the driver.
    pub fn url(&self, options: &str) -> String {
        let number = self.names.fetch_add(1, Ordering::Relaxed);
        format!("{}?prefix=test{number}&{options}", self.base())
    }

    /// The URL of the database, without options.
    pub fn base(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// Like [`Self::url`], for a Cluster: the driver requires several servers.
    pub fn cluster_url(&self, options: &str) -> String {
        let server = format!("127.0.0.1:{}", self.port);
        self.url(options)
            .replace(&server, &format!("{server},{server}"))
    }

    /// The port of the server.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process, for fault injection.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Stops the server with a signal and starts it again; on return it is ready.
    pub fn restart(&self, signal: Signal) {
        self.process.restart(signal, || ready(self.port));
    }

    /// Starts the server again after it was stopped.
    pub fn start_again(&self) {
        self.process.start_again(|| ready(self.port));
    }

    /// Sends an inline command and returns the first line of the response.
    pub fn command(&self, words: &str) -> String {
        command(self.port, words).expect("a response")
    }
}

/// Any response is accepted (it may request a password), except that the server is loading.
fn ready(port: u16) -> Result<(), String> {
    let response = command(port, "PING").map_err(|error| error.to_string())?;
    if response.is_empty() || response.contains("LOADING") {
        return Err(format!("the response is {response:?}"));
    }
    Ok(())
}

fn command(port: u16, words: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(RESPONSE_TIMEOUT))?;
    stream.write_all(format!("{words}\r\n").as_bytes())?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_survives_its_starting_thread_and_restarts() {
        let started = std::thread::spawn(|| Redis::start(&["--appendonly", "yes"]));
        let Some(redis) = started.join().expect("a server") else {
            return;
        };
        assert_eq!(redis.command("PING"), "+PONG");
        assert_eq!(redis.command("SET key value"), "+OK");
        redis.restart(Signal::Terminate);
        assert_eq!(redis.command("STRLEN key"), ":5");
        redis.process().signal(Signal::Pause);
        redis.process().signal(Signal::Continue);
        redis.restart(Signal::Kill);
        let dir = redis.process().dir().to_owned();
        assert!(dir.exists());
        drop(redis);
        assert!(!dir.exists());
    }
}
