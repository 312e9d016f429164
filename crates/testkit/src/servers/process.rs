//! A server process that ends with the test process at the latest.
//!
//! The kernel kills it when the thread that started it ends (`setpriv --pdeathsig`); that thread does
//! nothing else and never ends by itself. Its directory is removed by a shell that waits for the end of a
//! pipe held by the test process.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::process::{Pid, kill_process};

/// Maximum time for a server to start or to stop.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Interval of the checks whether it is ready.
const POLL: Duration = Duration::from_millis(20);

/// Removes the directory `$0` when its input ends, and again after processes that still write have ended.
const REMOVER: &str = "trap '' INT TERM HUP; read -r _; rm -rf \"$0\"; sleep 1; rm -rf \"$0\"";

/// Creates the directory of a server.
pub(super) type NewDirectory = fn(&'static str) -> Directory;

pub(super) const IN_MEMORY: NewDirectory = Directory::in_memory;

/// The command to start a server.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The name in messages and in [`super::SERVERS_VARIABLE`].
    pub name: &'static str,
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The user to run it as, if the tests run as root and the server rejects that.
    pub user: Option<&'static str>,
    /// Additional environment variables.
    pub environment: Vec<(String, String)>,
}

impl Launch {
    /// A program without arguments.
    pub fn new(name: &'static str, program: impl Into<PathBuf>) -> Self {
        Self {
            name,
            program: program.into(),
            arguments: Vec::new(),
            user: None,
            environment: Vec::new(),
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn arguments<S: Into<String>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    fn command(&self, dir: &Path) -> Command {
        let mut command = Command::new("setpriv");
        if let Some(user) = self.user.filter(|_| rustix::process::getuid().is_root()) {
            command.args(["--reuid", user, "--regid", user, "--init-groups"]);
        }
        command.args(["--pdeathsig", "KILL", "--"]);
        command.arg(&self.program).args(&self.arguments);
        command.envs(self.environment.iter().cloned());
        let log = File::options()
            .create(true)
            .append(true)
            .open(dir.join("log"))
            .expect("a log");
        let errors = log.try_clone().expect("the log again");
        command.current_dir(dir).stdin(Stdio::null());
        command.stdout(log).stderr(errors);
        command
    }
}

/// A signal that a test sends to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Kills the process.
    Kill,
    /// Requests a shutdown.
    Terminate,
    /// Requests the second kind of shutdown (PostgreSQL: fast).
    Interrupt,
    /// Requests the third kind of shutdown (PostgreSQL: immediate).
    Quit,
    /// Pauses the process: connections stay open without responses.
    Pause,
    /// Resumes the process.
    Continue,
}

/// A running server with its directory. Killed on drop.
pub struct Process {
    launch: Launch,
    dir: Directory,
    child: Mutex<Child>,
}

impl Process {
    /// An empty directory for a server, for files that must exist before it starts.
    pub fn directory(name: &str) -> Directory {
        Directory::new(name)
    }

    /// Starts a server in a directory, and waits until `ready` succeeds.
    pub fn start(launch: Launch, dir: Directory, ready: impl Fn() -> Result<(), String>) -> Self {
        let child = Mutex::new(spawn(launch.command(&dir.path), &launch));
        let process = Self { launch, dir, child };
        process.wait_ready(ready);
        process
    }

    /// The directory of the server.
    pub fn dir(&self) -> &Path {
        &self.dir.path
    }

    /// The output of the server.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.dir.path.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Sends a signal without waiting for its effect.
    pub fn signal(&self, signal: Signal) {
        let signal = match signal {
            Signal::Kill => rustix::process::Signal::KILL,
            Signal::Terminate => rustix::process::Signal::TERM,
            Signal::Interrupt => rustix::process::Signal::INT,
            Signal::Quit => rustix::process::Signal::QUIT,
            Signal::Pause => rustix::process::Signal::STOP,
            Signal::Continue => rustix::process::Signal::CONT,
        };
        let child = self.child.lock();
        let pid = Pid::from_child(&child);
        kill_process(pid, signal).expect("the server can be signalled");
    }

    /// Sends a signal that ends the server, and waits for its end.
    pub fn stop(&self, signal: Signal) -> ExitStatus {
        self.signal(signal);
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.lock().try_wait().expect("a child") {
                return status;
            }
            assert!(
                start.elapsed() < PATIENCE,
                "{} does not stop:\n{}",
                self.launch.name,
                self.log()
            );
            thread::sleep(POLL);
        }
    }

    /// Starts the server again after [`Self::stop`], in the same directory with the same arguments.
    pub fn start_again(&self, ready: impl Fn() -> Result<(), String>) {
        *self.child.lock() = spawn(self.launch.command(&self.dir.path), &self.launch);
        self.wait_ready(ready);
    }

    /// [`Self::stop`] and [`Self::start_again`].
    pub fn restart(&self, signal: Signal, ready: impl Fn() -> Result<(), String>) {
        self.stop(signal);
        self.start_again(ready);
    }

    fn wait_ready(&self, ready: impl Fn() -> Result<(), String>) {
        let name = self.launch.name;
        let alive = || match self.child.lock().try_wait().expect("a child") {
            Some(status) => panic!("{name} ended with {status}:\n{}", self.log()),
            None => ready(),
        };
        if let Err(problem) = wait_until(alive) {
            panic!("{name} does not start: {problem}\n{}", self.log());
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let child = self.child.get_mut();
        // It may have ended already, which is fine.
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// A temporary directory, removed on drop and when this process ends in any way.
pub struct Directory {
    path: PathBuf,
    remover: Child,
}

impl Directory {
    fn new(name: &str) -> Self {
        Self::within(&std::env::temp_dir(), name)
    }

    /// A directory in memory if the system supports it: for speed, if the test does not depend on a disk.
    pub fn in_memory(name: &str) -> Self {
        let memory = Path::new("/dev/shm");
        match memory.is_dir() {
            true => Self::within(memory, name),
            false => Self::new(name),
        }
    }

    fn within(parent: &Path, name: &str) -> Self {
        let prefix = format!("espalier-{name}-");
        let dir = tempfile::Builder::new().prefix(&prefix).tempdir_in(parent);
        let path = dir.expect("a temporary directory").keep();
        let mut remover = Command::new("sh");
        remover.args(["-c", REMOVER]).arg(&path);
        remover.stdin(Stdio::piped()).stdout(Stdio::null());
        let remover = remover.stderr(Stdio::null()).spawn().expect("a shell");
        Self { path, remover }
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // The remover deletes the directory when its input ends, which is now.
        drop(self.remover.stdin.take());
        let _ = fs::remove_dir_all(&self.path);
        let _ = self.remover.kill();
        let _ = self.remover.wait();
    }
}

/// Calls `ready` until it succeeds or [`PATIENCE`] has passed; then returns the last error.
pub fn wait_until(mut ready: impl FnMut() -> Result<(), String>) -> Result<(), String> {
    let start = Instant::now();
    loop {
        match ready() {
            Err(problem) if start.elapsed() >= PATIENCE => return Err(problem),
            Err(_) => thread::sleep(POLL),
            Ok(()) => return Ok(()),
        }
    }
}

/// Starts a process on a dedicated thread that lives as long as this process: the kernel kills a child with
/// the thread that created it, and threads of tests end with their test.
fn spawn(command: Command, launch: &Launch) -> Child {
    type Order = (Command, Sender<std::io::Result<Child>>);
    static STARTER: OnceLock<Mutex<Sender<Order>>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (orders, received) = channel::<Order>();
        thread::spawn(move || {
            for (mut command, response) in received {
                // The receiver is gone if the caller panicked.
                let _ = response.send(command.spawn());
            }
        });
        Mutex::new(orders)
    });
    let (response, answered) = channel();
    let order = (command, response);
    starter.lock().send(order).expect("the starter runs");
    let child = answered.recv().expect("the starter responds");
    child.unwrap_or_else(|error| {
        let program = launch.program.display();
        panic!("{program} cannot be started ({error}); `make setup` installs it")
    })
}
