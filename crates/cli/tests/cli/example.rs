//! The script of `make run`, with a small network: its three printed commands run and are checked.

use std::path::Path;
use std::process::Command;

use crate::process::Sandbox;

#[test]
fn the_printed_commands_work_as_printed() {
    let sandbox = Sandbox::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/run-example");
    let output = Command::new("bash")
        .arg(script)
        .env("ESPALIER_BIN", env!("CARGO_BIN_EXE_espalier"))
        .env("ESPALIER_RUN_DIR", sandbox.path("run"))
        .env("ESPALIER_RUN_DEVICES", "40")
        .env("ESPALIER_RUN_CHECK", "1")
        .output()
        .expect("bash");
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{stdout}\n{stderr}");
    assert!(
        stdout.contains("the three commands answer as they should"),
        "{stdout}"
    );
}
