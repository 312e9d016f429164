//! Runs the binary in a folder of its own.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A folder to run the binary in, isolated from settings of the environment.
pub struct Sandbox {
    folder: TempDir,
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    /// Standard output of a run that succeeded.
    pub fn ok(self) -> String {
        assert_eq!(self.status, 0, "{self:?}");
        self.stdout
    }

    /// Standard output of a run that succeeded, as JSON.
    pub fn json(self) -> Value {
        serde_json::from_str(&self.ok()).expect("JSON")
    }

    /// Standard error of a run that failed with this status.
    pub fn failed(self, status: i32) -> String {
        assert_eq!(self.status, status, "{self:?}");
        self.stderr
    }
}

impl Sandbox {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(&path, text).expect("a file");
        name.to_owned()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_espalier"));
        command.args(arguments).current_dir(self.folder.path());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ESPALIER_") {
                command.env_remove(name);
            }
        }
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Outcome {
        self.run_with(arguments, b"", &[])
    }

    /// Runs with a text on standard input and variables in the environment.
    pub fn run_with(
        &self,
        arguments: &[&str],
        input: &[u8],
        variables: &[(&str, &str)],
    ) -> Outcome {
        let mut child = self
            .command(arguments)
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary");
        let mut stdin = child.stdin.take().expect("standard input");
        let input = input.to_vec();
        let writer = std::thread::spawn(move || {
            // A command that fails early does not read all input.
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().expect("an end");
        writer.join().expect("the writer");
        Outcome {
            status: output.status.code().expect("no signal"),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    /// Serves a store of this folder on a free port.
    pub fn serve(&self, arguments: &[&str]) -> Server {
        self.serve_in(arguments, &[])
    }

    /// Serves as [`Sandbox::serve`], with variables in the environment.
    pub fn serve_in(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Server {
        self.serve_at("127.0.0.1:0", arguments, variables)
    }

    /// Serves as [`Sandbox::serve_in`], on an address.
    pub fn serve_at(
        &self,
        address: &str,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Server {
        let fixed = ["serve", "--listen", address, "--json", "--log", "warn"];
        let mut child = self
            .command(&[&fixed, arguments].concat())
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary");
        let mut stdout = BufReader::new(child.stdout.take().expect("standard output"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line");
        let listening: Value =
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("told {line:?}"));
        let url = listening["url"]
            .as_str()
            .unwrap_or_else(|| panic!("told {line}"))
            .to_owned();
        Server {
            child,
            _stdout: stdout,
            url,
            netconf: listening["netconf"].clone(),
        }
    }
}

/// A server process, which is killed on drop.
pub struct Server {
    child: Child,
    _stdout: BufReader<ChildStdout>,
    pub url: String,
    /// The addresses of NETCONF, by transport.
    pub netconf: Value,
}

/// A response of a server.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: ureq::http::HeaderMap,
    pub body: String,
}

impl Server {
    /// SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().expect("a living server");
        self.child.wait().expect("an end");
    }

    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGTERM and returns the exit status.
    pub fn terminate(mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        let sent = Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .expect("kill");
        assert!(sent.success());
        self.child.wait().expect("an end").code()
    }

    /// Sends a request with an absolute path; returns an error if the connection breaks.
    pub fn try_request(
        &self,
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> Result<Answer, String> {
        self.try_request_of("application/yang-data+json", method, path, body)
    }

    /// Sends a request with the media type of plain JSON.
    pub fn request_json(&self, method: &str, path: &str, body: &str) -> Answer {
        self.try_request_of("application/json", method, path, Some(body))
            .expect("an answer")
    }

    fn try_request_of(
        &self,
        media_type: &str,
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> Result<Answer, String> {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            .build()
            .into();
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("accept", "application/yang-data+json")
            .header("content-type", media_type);
        let answer = match body {
            Some(body) => agent.run(request.body(body.to_owned()).expect("a request")),
            None => agent.run(request.body(()).expect("a request")),
        };
        let mut answer = answer.map_err(|error| error.to_string())?;
        let mut text = String::new();
        let mut reader = answer.body_mut().as_reader();
        reader
            .read_to_string(&mut text)
            .map_err(|error| error.to_string())?;
        Ok(Answer {
            status: answer.status().as_u16(),
            headers: answer.headers().clone(),
            body: text,
        })
    }

    /// Sends a request with these headers only.
    pub fn request_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> Answer {
        let config = ureq::Agent::config_builder().http_status_as_error(false);
        let agent: ureq::Agent = config.build().into();
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = match body {
            Some(body) => agent.run(request.body(body.to_owned()).expect("a request")),
            None => agent.run(request.body(()).expect("a request")),
        };
        let mut answer = answer.expect("an answer");
        Answer {
            status: answer.status().as_u16(),
            headers: answer.headers().clone(),
            body: answer.body_mut().read_to_string().expect("text"),
        }
    }

    pub fn request(&self, method: &str, path: &str, body: Option<&str>) -> Answer {
        self.try_request(method, path, body).expect("an answer")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The folder with data shared between projects, if it exists.
pub fn shared_data() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    folder.is_dir().then_some(folder)
}
