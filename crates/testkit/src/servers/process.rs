//! A server process that lives as long as the test process at most.
//!
//! Its kernel kills it when the thread that started it ends (`setpriv --pdeathsig`), and that is a
//! thread that does nothing else and never ends by itself. Its directory is removed by a shell
//! that waits for the end of a pipe, whose other end the test process has.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::process::{Pid, kill_process};

/// The longest that a server may take to start or to stop.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How often it is asked whether it is there yet.
const POLL: Duration = Duration::from_millis(20);

/// Removes the directory `$0` when its input ends, again after what may still be writing is gone.
const REMOVER: &str = "trap '' INT TERM HUP; read -r _; rm -rf \"$0\"; sleep 1; rm -rf \"$0\"";

/// Makes the directory of a server.
pub(super) type Place = fn(&'static str) -> Directory;

pub(super) const IN_MEMORY: Place = Directory::in_memory;

/// How to start a server.
#[derive(Clone, Debug)]
pub struct Launch {
    /// What it is called in messages, and in [`super::SERVERS_VARIABLE`].
    pub name: &'static str,
    /// The program.
    pub program: PathBuf,
    /// What it is called with.
    pub arguments: Vec<String>,
    /// The user to run it as, where the tests run as root and the server refuses that.
    pub user: Option<&'static str>,
    /// Further variables of its environment.
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

    /// The same with further arguments.
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
    /// Ends it at once.
    Kill,
    /// Asks it to end.
    Terminate,
    /// Asks it to end in its own second way (PostgreSQL: fast).
    Interrupt,
    /// Asks it to end in its own third way (PostgreSQL: immediate).
    Quit,
    /// Halts it: connections stay open and nothing answers.
    Pause,
    /// Lets it go on.
    Continue,
}

/// A running server, its directory and its port. Killed when dropped.
pub struct Process {
    launch: Launch,
    dir: Directory,
    child: Mutex<Child>,
}

impl Process {
    /// An empty directory for a server, to put files in before it is started.
    pub fn directory(name: &str) -> Directory {
        Directory::new(name)
    }

    /// Starts a server in a directory, and waits until `ready` says that it is.
    pub fn start(launch: Launch, dir: Directory, ready: impl Fn() -> Result<(), String>) -> Self {
        let child = Mutex::new(spawn(launch.command(&dir.path), &launch));
        let process = Self { launch, dir, child };
        process.wait_ready(ready);
        process
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        &self.dir.path
    }

    /// What it has written to its outputs.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.dir.path.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Sends a signal, and does not wait for what it does.
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

    /// Sends a signal that ends it, and waits until it has ended.
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

    /// Starts it again after [`Self::stop`], in the same directory with the same arguments.
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
        // It may have ended already, which is as good.
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// A temporary directory, removed when it is dropped and when this process ends, however.
pub struct Directory {
    path: PathBuf,
    remover: Child,
}

impl Directory {
    fn new(name: &str) -> Self {
        Self::within(&std::env::temp_dir(), name)
    }

    /// The same in memory, where this system has that: for what is to be fast, and is not about
    /// what a disk keeps.
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

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // The remover removes it as soon as its input ends, which is now.
        drop(self.remover.stdin.take());
        let _ = fs::remove_dir_all(&self.path);
        let _ = self.remover.kill();
        let _ = self.remover.wait();
    }
}

/// A port of the loopback interface that nobody listens on now.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("the loopback interface");
    listener.local_addr().expect("an address").port()
}

/// Asks until the answer is well, or [`PATIENCE`] is over: then the last problem.
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

/// Starts a process on the thread that starts them all and lives as long as this process: the
/// kernel takes a child with the thread that made it, and threads of tests end with their test.
fn spawn(command: Command, launch: &Launch) -> Child {
    type Order = (Command, Sender<std::io::Result<Child>>);
    static STARTER: OnceLock<Mutex<Sender<Order>>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (orders, received) = channel::<Order>();
        thread::spawn(move || {
            for (mut command, answer) in received {
                // Whoever ordered has panicked when nobody takes the answer.
                let _ = answer.send(command.spawn());
            }
        });
        Mutex::new(orders)
    });
    let (answer, answered) = channel();
    let order = (command, answer);
    starter.lock().send(order).expect("the starter lives");
    let child = answered.recv().expect("the starter answers");
    child.unwrap_or_else(|error| {
        let program = launch.program.display();
        panic!("{program} cannot be started ({error}); `make setup` installs it")
    })
}
