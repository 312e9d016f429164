//! Tests that run another test of the same binary as a child process.
//!
//! The child is a `#[test]` of the same binary that does nothing unless it is run as a child, which
//! [`argument`] indicates. It sends lines to its parent on its standard output, after [`MARK`], because the
//! test harness prints there too.
//! output, after [`MARK`], as the test harness prints there too.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

/// Precedes every line for the parent.
pub const MARK: &str = "::part::";

const ARGUMENT_VARIABLE: &str = "ESPALIER_TEST_PART";

/// A running child process.
pub struct Part {
    child: Child,
    lines: Lines,
}

/// The lines of a child process. Empty after [`Part::lines`] has taken them.
pub struct Lines(Option<BufReader<ChildStdout>>);

/// The argument of the child process; `None` if the test is not run as one.
pub fn argument() -> Option<String> {
    env::var(ARGUMENT_VARIABLE).ok()
}

/// Sends a line to the parent.
pub fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{MARK}{line}").expect("the parent reads");
    output.flush().expect("the parent reads");
}

impl Part {
    /// Starts the test `name` of this binary as a child process.
    pub fn start(name: &str, argument: &str) -> Self {
        let program = env::current_exe().expect("this program has a path");
        Self::run(Command::new(program), name, argument)
    }

    /// Like [`Self::start`], under limits of the shell's `ulimit`, such as `-f 4096`. Exceeding the file
    /// size limit is then an error, not a signal.
    pub fn start_limited(limits: &str, name: &str, argument: &str) -> Self {
        let program = env::current_exe().expect("this program has a path");
        let mut shell = Command::new("sh");
        shell.arg("-c");
        shell.arg(format!("trap '' XFSZ; ulimit {limits}; exec \"$0\" \"$@\""));
        shell.arg(program);
        Self::run(shell, name, argument)
    }

    fn run(mut command: Command, name: &str, argument: &str) -> Self {
        command.args([name, "--exact", "--nocapture", "--test-threads=1"]);
        command.env(ARGUMENT_VARIABLE, argument);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the child process starts");
        let lines = Lines(child.stdout.take().map(BufReader::new));
        Self { child, lines }
    }

    /// The next line; `None` when the process has ended.
    pub fn line(&mut self) -> Option<String> {
        self.lines.next()
    }

    /// All further lines, for reading on another thread.
    pub fn lines(&mut self) -> Lines {
        Lines(self.lines.0.take())
    }

    /// Pauses the process until [`Self::go_on`].
    pub fn halt(&self) {
        self.signal(Signal::STOP);
    }

    /// Resumes a paused process.
    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("the process can be signalled");
    }

    /// Kills the process.
    pub fn kill(&mut self) {
        self.child.kill().expect("the process can be killed");
    }

    /// Waits until the process ends, which must be successful, and returns its remaining lines.
    pub fn finish(mut self) -> Vec<String> {
        drop(self.child.stdin.take());
        let mut lines = Vec::new();
        while let Some(line) = self.line() {
            lines.push(line);
        }
        let status = self.child.wait().expect("the process ends");
        assert!(
            status.success(),
            "the process failed: {status}, after {lines:?}"
        );
        lines
    }
}

impl Iterator for Lines {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let output = self.0.as_mut()?;
        let mut line = String::new();
        loop {
            line.clear();
            let length = output.read_line(&mut line).expect("text");
            if length == 0 {
                return None;
            }
            let text = line
                .strip_suffix('\n')
                .and_then(|line| line.split_once(MARK));
            if let Some((_, text)) = text {
                return Some(text.to_owned());
            }
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // It may have ended already, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
