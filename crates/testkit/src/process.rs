//! A test that runs a part of itself in another process.
//!
//! The part is a `#[test]` of the same binary, which does nothing unless it is called as a part:
//! [`argument`] tells. Whatever it says to the test that called it stands on lines of its standard
//! output, after [`MARK`], as the test harness prints there too.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

/// What is said stands after this.
pub const MARK: &str = "::part::";

const ARGUMENT_VARIABLE: &str = "ESPALIER_TEST_PART";

/// A running part.
pub struct Part {
    child: Child,
    lines: Lines,
}

/// What a part says, line by line. None after [`Part::lines`] has taken them.
pub struct Lines(Option<BufReader<ChildStdout>>);

/// What the part was called with; `None` in the ordinary run of the tests.
pub fn argument() -> Option<String> {
    env::var(ARGUMENT_VARIABLE).ok()
}

/// Says a line to the test that called this part.
pub fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{MARK}{line}").expect("the caller listens");
    output.flush().expect("the caller listens");
}

impl Part {
    /// Starts the part that is the test `name` of this binary.
    pub fn start(name: &str, argument: &str) -> Self {
        let program = env::current_exe().expect("this program has a path");
        Self::run(Command::new(program), name, argument)
    }

    /// The same, under limits of the shell's `ulimit`, such as `-f 4096`. Going over a limit of
    /// the file size is an error then, not a signal.
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
        let mut child = command.spawn().expect("the part starts");
        let lines = Lines(child.stdout.take().map(BufReader::new));
        Self { child, lines }
    }

    /// The next line that the part says; `None` when it has ended.
    pub fn line(&mut self) -> Option<String> {
        self.lines.next()
    }

    /// All that the part is going to say, to be heard on another thread.
    pub fn lines(&mut self) -> Lines {
        Lines(self.lines.0.take())
    }

    /// Halts the part where it is, until [`Self::go_on`].
    pub fn halt(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets a part go on that was halted.
    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("the part can be signalled");
    }

    /// Kills the part, at once and without its knowing.
    pub fn kill(&mut self) {
        self.child.kill().expect("the part can be killed");
    }

    /// Waits until the part ends, which has to be well, and returns what it still said.
    pub fn finish(mut self) -> Vec<String> {
        drop(self.child.stdin.take());
        let mut lines = Vec::new();
        while let Some(line) = self.line() {
            lines.push(line);
        }
        let status = self.child.wait().expect("the part ends");
        assert!(
            status.success(),
            "the part failed: {status}, after {lines:?}"
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
            let said = line
                .strip_suffix('\n')
                .and_then(|line| line.split_once(MARK));
            if let Some((_, said)) = said {
                return Some(said.to_owned());
            }
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // It may have ended already, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
