//! Files with data are accessible to their owner only, regardless of the umask.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::guide::shell;
use crate::process::Sandbox;

/// Creates every kind of file that holds data, on every engine with files, and lists those accessible to others.
const SCRIPT: &str = r#"
export ESPALIER_LOG=warn
umask UMASK
for store in embedded:e/deep/store file:f/deep/store sqlite:s/deep/store.db; do
    export ESPALIER_STORE=$store
    espalier load network/network.json --yang network >&2
    espalier set '/espalier-network:network/device=core-1/site' a --datastore candidate >&2
    espalier commit >&2
    espalier documents configure cars --unique name=/name >&2
    espalier documents insert cars '{"name":"a"}' >&2
    espalier stats track m a=1 >&2
    espalier serve --listen 127.0.0.1:0 --json > out.json &
    server=$!
    while [ ! -s out.json ]; do sleep 0.05; done
    case $store in file:*) ;; *)
        espalier set '/espalier-network:network/device=core-1/site' b >&2
        espalier set '/espalier-network:network/device=core-1/site' c >&2;;
    esac
    find e f s -perm /077 2>/dev/null || true
    kill $server; wait $server
    rm out.json
    name=${store%%:*}
    espalier export -o x/$name.json >&2
    espalier documents export cars -o x/$name.jsonl >&2
    espalier backup $store x/$name.backup >&2
    espalier restore x/$name.backup $store.restored >&2
    espalier copy $store $store.copied >&2
done
find e f s -perm /077
find x -type f -perm /077
for store in e/deep/store f/deep/store; do find $store -type d ! -perm 700; done
test "$(find e f s x -type f | wc -l)" -gt 25
"#;

#[test]
fn files_of_a_store_backups_and_exports_are_private() {
    for umask in ["000", "022"] {
        let sandbox = Sandbox::new();
        sandbox
            .run(&["example", "network", "-o", "network", "--devices", "20"])
            .ok();
        let exposed = shell(&sandbox, &SCRIPT.replace("UMASK", umask));
        assert_eq!(exposed, "", "umask {umask}");
    }
}

#[test]
fn check_reports_files_that_others_can_read() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["example", "network", "-o", "network", "--devices", "20"])
        .ok();
    for (store, file) in [
        ("embedded:e", "e/data.mdb"),
        ("file:f", "f/datastores/default/default/running.json"),
        ("sqlite:s.db", "s.db"),
    ] {
        sandbox
            .run(&[
                "load",
                "network/network.json",
                "--yang",
                "network",
                "--store",
                store,
            ])
            .ok();
        let clean = sandbox.run(&["check", store, "--json"]).json();
        assert_eq!(clean["warnings"], serde_json::json!([]), "{store}");
        let looser = fs::Permissions::from_mode(0o644);
        fs::set_permissions(sandbox.path(file), looser).expect("permissions");
        let output = sandbox.run(&["check", store]).ok();
        let advice = format!("{file} can be read by others (mode 0644): chmod 0600 '{file}'");
        assert!(output.contains(&advice), "{output}");
        let output = sandbox.run(&["check", store, "--json"]).json();
        // SQLite gives the mode of its file to its log and its shared memory.
        let warnings = output["warnings"].as_array().expect("warnings");
        assert!(!warnings.is_empty(), "{output}");
        for warning in warnings {
            let names_it = warning.as_str().is_some_and(|text| text.starts_with(file));
            assert!(names_it, "{output}");
        }
    }
}
