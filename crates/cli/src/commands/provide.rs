//! `espalier provide`.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value as Json, json};

use crate::endpoint::Remote;
use crate::settings::{Access, Settings};
use espalier_terminal::{Failure, Result};

/// The maximum number of programs that run at a time.
const RUNS_MAX: usize = 64;

/// The maximum size of the output of a program.
const OUTPUT_BYTES_MAX: u64 = 64 << 20;

/// How often a running program is looked at.
const RUN_CHECK: Duration = Duration::from_millis(10);

/// The pause before the command connects again.
const RETRY: Duration = Duration::from_secs(1);

/// Let a program or script serve state, answer operations and take part in commits
#[derive(Args, Debug)]
#[command(after_help = "\
The program is run for each call, with what it is about on standard input as JSON, and in its environment: \
ESPALIER_KIND (state, operation, update, change, done, abort, operation-abort), ESPALIER_PATH, ESPALIER_USER, \
ESPALIER_SESSION, ESPALIER_TIMEOUT, ESPALIER_VERSION. What it prints is the state, the output, or the edits, as JSON. \
An exit status other than 0 refuses the call; the message is what it wrote to standard error. It is killed when its \
time is over. docs/guide/providers.md has the details, and the protocol for programs that stay connected.

Examples:
  espalier provide --state /ietf-system:system-state/clock --exec ./clock.sh \\
      --server unix:/run/espalier.sock
  espalier provide --operation /acme:rack/reset --exec ./reset.sh --server unix:/run/espalier.sock
  espalier provide --on-change /acme:acl --exec sh --server unix:/run/espalier.sock -- check.sh")]
pub struct Provide {
    /// The program
    #[arg(long, value_name = "PROGRAM")]
    exec: String,

    /// Its arguments
    #[arg(last = true)]
    arguments: Vec<String>,

    /// The name in logs and messages; by default, that of the program
    #[arg(long)]
    name: Option<String>,

    /// Serve the state at a path
    #[arg(long, value_name = "PATH")]
    state: Vec<String>,

    /// How long state is used again, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    cache: f64,

    /// Answer an RPC or action
    #[arg(long, value_name = "PATH")]
    operation: Vec<String>,

    /// Add edits to commits that change a path
    #[arg(long, value_name = "PATH")]
    on_update: Vec<String>,

    /// Accept or refuse commits that change a path
    #[arg(long, value_name = "PATH")]
    on_change: Vec<String>,

    /// Be run after commits that changed a path
    #[arg(long, value_name = "PATH")]
    on_commit: Vec<String>,

    /// Keep the version of the last commit that the program was run for in this file, and begin after it next time
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,

    /// The time for each run, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    timeout: f64,

    #[command(flatten)]
    access: Access,
}

/// What the command knows from earlier connections.
#[derive(Default)]
struct Progress {
    was_connected: bool,
    /// The version of the last commit that the program was run for.
    version: Option<u64>,
}

impl Provide {
    /// Runs the command until it is stopped.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let settings = Settings::from(&self.access).over(settings);
        let Some(server) = settings.server.clone() else {
            return Err(Failure::usage("a provider works for a server")
                .hint("add --server unix:FILE, or --server URL"));
        };
        let remote = Arc::new(Remote::new(&server, &settings)?);
        if self.state.is_empty() && self.operation.is_empty() && self.phases().is_empty() {
            return Err(Failure::usage("the program has nothing to do")
                .hint("add --state, --operation, --on-update, --on-change or --on-commit"));
        }
        let mut progress = Progress {
            version: self
                .resume
                .as_deref()
                .map(read_version)
                .transpose()?
                .flatten(),
            ..Progress::default()
        };
        loop {
            match self.connected(&remote, &mut progress) {
                // What is wrong from the beginning does not get better by itself.
                Err(failure) if !progress.was_connected => return Err(failure),
                Err(failure) => tracing::warn!("{failure}; connecting again"),
                Ok(()) => tracing::warn!("the connection ended; connecting again"),
            }
            std::thread::sleep(RETRY);
        }
    }

    /// What the program provides.
    fn description(&self, since: Option<u64>) -> Json {
        let timeout = self.timeout;
        let state = self.state.iter();
        let state =
            state.map(|path| json!({"path": path, "timeout": timeout, "cache": self.cache}));
        let operations = self.operation.iter();
        let operations = operations.map(|path| json!({"path": path, "timeout": timeout}));
        let commits = self.phases().into_iter().map(|(phase, paths)| {
            let mut role = json!({"paths": paths, "phases": [phase], "timeout": timeout});
            if let Some(since) = since.filter(|_| phase == "done") {
                role["since"] = since.into();
            }
            role
        });
        json!({
            "name": self.name(),
            "state": state.collect::<Vec<_>>(),
            "operations": operations.collect::<Vec<_>>(),
            "commits": commits.collect::<Vec<_>>(),
        })
    }

    /// The phases of commits that the program takes part in, with their paths.
    fn phases(&self) -> Vec<(&'static str, &[String])> {
        let phases = [
            ("update", &self.on_update[..]),
            ("change", &self.on_change),
            ("done", &self.on_commit),
        ];
        phases
            .into_iter()
            .filter(|(_, paths)| !paths.is_empty())
            .collect()
    }

    fn name(&self) -> String {
        let program = PathBuf::from(&self.exec);
        let stem = program
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned());
        self.name.clone().or(stem).unwrap_or_default()
    }

    /// Connects, and runs the program for each call until the connection ends.
    fn connected(&self, remote: &Arc<Remote>, progress: &mut Progress) -> Result<()> {
        let stream = remote.connect_provider(&self.description(progress.version))?;
        progress.was_connected = true;
        let running = Arc::new(AtomicUsize::new(0));
        let mut connection = String::new();
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { return Ok(()) };
            let message: Json = serde_json::from_str(&line).map_err(std::io::Error::from)?;
            if let Some(id) = message["connected"].as_str() {
                id.clone_into(&mut connection);
                tracing::info!(program = self.name(), "connected");
            }
            match message["kind"].as_str() {
                // In order, each before the next.
                Some("done") => {
                    if let Err(reason) = run((&self.exec, &self.arguments), &message, self.timeout)
                    {
                        tracing::error!(reason, "the program failed after a commit");
                    }
                    progress.version = message["version"].as_u64().or(progress.version);
                    if let (Some(file), Some(version)) = (&self.resume, progress.version) {
                        write_version(file, version)?;
                    }
                }
                Some(_) => self.answer(remote, &running, &connection, message),
                None => {}
            }
        }
        Ok(())
    }

    /// Runs the program for a call, on a thread of its own, and sends what it answers.
    fn answer(
        &self,
        remote: &Arc<Remote>,
        running: &Arc<AtomicUsize>,
        connection: &str,
        message: Json,
    ) {
        let (remote, timeout) = (Arc::clone(remote), self.timeout);
        let (exec, arguments) = (self.exec.clone(), self.arguments.clone());
        let (running, connection) = (Arc::clone(running), connection.to_owned());
        let is_one_too_many = running.fetch_add(1, Ordering::AcqRel) >= RUNS_MAX;
        std::thread::spawn(move || {
            let result = match is_one_too_many {
                true => Err(format!("{RUNS_MAX} programs are running")),
                false => run((&exec, &arguments), &message, timeout),
            };
            running.fetch_sub(1, Ordering::AcqRel);
            let Some(call) = message["call"].as_u64() else {
                return;
            };
            let sent = remote.send_to_provider(&connection, &answer(call, &message, result));
            if let Err(error) = sent {
                tracing::warn!(%error, "an answer was not delivered");
            }
        });
    }
}

/// The version in a file; `None` if there is no file.
fn read_version(file: &Path) -> Result<Option<u64>> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let wrong = |_| Failure::data("the file has no version").in_file(file.display().to_string());
    text.trim().parse().map(Some).map_err(wrong)
}

/// Replaces the version in a file.
fn write_version(file: &Path, version: u64) -> Result<()> {
    let new = file.with_extension("new");
    std::fs::write(&new, format!("{version}\n"))?;
    Ok(std::fs::rename(&new, file)?)
}

/// The answer to a call.
fn answer(call: u64, message: &Json, result: std::result::Result<Json, String>) -> Json {
    let member = match message["kind"].as_str() {
        Some("state") => "data",
        Some("operation") => "output",
        _ => "edits",
    };
    match result {
        Ok(Json::Null) => json!({ "call": call }),
        Ok(output) => json!({"call": call, member: output}),
        Err(reason) => json!({"call": call, "errors": [
            {"error-tag": "operation-failed", "error-message": reason}]}),
    }
}

/// Runs the program for a message. Returns what it printed, or why it refused.
fn run(
    (program, arguments): (&str, &[String]),
    message: &Json,
    timeout: f64,
) -> std::result::Result<Json, String> {
    let text = |name: &str| match &message[name] {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        other => other.to_string(),
    };
    let mut child = Command::new(program)
        .args(arguments)
        .env("ESPALIER_KIND", text("kind"))
        .env("ESPALIER_PATH", text("path"))
        .env("ESPALIER_USER", text("user"))
        .env("ESPALIER_SESSION", text("session"))
        .env("ESPALIER_VERSION", text("version"))
        .env("ESPALIER_TIMEOUT", timeout.to_string())
        // With a group of its own, what it started is killed with it.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{program} cannot be run: {error}"))?;
    let input = match message["kind"].as_str() {
        Some("operation" | "operation-abort") => message["input"].to_string(),
        _ => message.to_string(),
    };
    let mut stdin = child.stdin.take();
    // A program may end without reading its input.
    let writer = std::thread::spawn(move || {
        if let Some(stdin) = &mut stdin {
            let _ = stdin.write_all(input.as_bytes());
        }
    });
    let (stdout, stderr) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let status = wait(&mut child, Duration::from_secs_f64(timeout.max(0.0)));
    let _ = writer.join();
    let [printed, errors] = [stdout, stderr].map(|reader| reader.join().unwrap_or_default());
    let status = status.ok_or_else(|| format!("{program} did not end within {timeout} s"))?;
    if !status.success() {
        let reason = String::from_utf8_lossy(&errors).trim().to_owned();
        return Err(match reason.is_empty() {
            true => format!("{program} failed: {status}"),
            false => reason,
        });
    }
    match printed.trim_ascii().is_empty() {
        true => Ok(Json::Null),
        false => serde_json::from_slice(&printed)
            .map_err(|error| format!("{program} printed no JSON: {error}")),
    }
}

/// Reads the output of a program on a thread of its own.
fn reader(output: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(output) = output {
            let _ = output.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes);
        }
        bytes
    })
}

/// Waits for the end of a program; kills it when its time is over.
fn wait(child: &mut Child, timeout: Duration) -> Option<std::process::ExitStatus> {
    let deadline = Instant::now() + timeout;
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if Instant::now() >= deadline {
            let group = format!("-{}", child.id());
            let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(RUN_CHECK);
    }
}
