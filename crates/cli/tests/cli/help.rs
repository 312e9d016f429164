//! The examples in `--help` run as printed, on the output of `espalier example network`.

use crate::guide::shell;
use crate::process::Sandbox;

/// The assumed width of a terminal: a longer line would be wrapped, and not run.
const COLUMNS: usize = 100;

/// The setup of all examples: a store with two versions, one with statistics, one with a collection, and the files
/// that the examples read.
const SETUP: &str = r#"
espalier example network -o network --devices 20
espalier load network/network.json --store embedded:data --yang network
espalier set '/ietf-interfaces:interfaces/interface=to-core-1/description' new --store embedded:data
espalier backup embedded:data monday.backup
espalier stats configure --store embedded:counts
for metric in 'event::signup' 'http' 'http --label status=200' 'http --label host=a'; do
    espalier stats track $metric count=2 sum=3 status.ok=1 --store embedded:counts
done
espalier stats observe http::latency ms=3 --store embedded:counts
espalier documents configure cars --unique name=/name --partition color=/color \
    --tags keyword=/keywords --partition color-and-year=/color,/year --store embedded:garage
espalier documents insert cars '{"name":"Corvet-1","color":"red","keywords":["fast"]}' \
    --store embedded:garage
espalier documents export cars -o cars.jsonl --store embedded:garage
echo 'hits:1|c' > lines.txt
echo '{"metric":"orders","at":"2025-03-05T12:00:00Z","values":{"count":1}}' > writes.jsonl
echo '{"ietf-interfaces:interfaces":{"interface":[{"name":"to-core-1","description":"a"}]}}' > change.json
echo '{"espalier-network:link-down":{"device":"core-1"}}' > link-down.json
cat > change.xml <<END
<interfaces xmlns="urn:ietf:params:xml:ns:yang:ietf-interfaces">
  <interface><name>to-core-1</name><description>b</description></interface></interfaces>
END
espalier export --path /ietf-interfaces:interfaces --format xml --store embedded:data > devices.xml
"#;

/// Additional setup of some commands.
const EXTRA_SETUP: &[(&str, &str)] = &[
    ("", "rm -r data network"),
    ("backup", "rm monday.backup"),
    ("example", "rm -r network"),
    ("unlock", LOCKS),
    ("stats", "rm -r counts"),
    ("stats configure", "rm -r counts"),
    ("stats scan", STATUS),
    ("documents", "rm -r garage"),
    ("documents configure", "rm -r garage"),
    ("documents export", "rm cars.jsonl"),
    ("documents insert", NO_CAR),
    ("user", USERS),
    ("token", USERS),
    ("access explain", USERS),
    ("access import-permissions", SYSREPO),
];
const LOCKS: &str = "
espalier lock '/espalier-network:network/device=core-1' --session maria --store embedded:data
espalier lock --session maria --store embedded:data";
const STATUS: &str = r#"espalier stats beam worker::7 '{"state":"up"}' --store embedded:counts"#;
const USERS: &str = "
echo secret | espalier user add maria --admin --store embedded:data
echo secret | espalier user add reader --store embedded:data";
const SYSREPO: &str = "
echo secret | espalier user add maria --admin --store embedded:data
printf '%s\\n' 'Module Name|Flags|Owner|Permissions' 'ietf-interfaces|I|root:netops|640' > modules.txt";
const NO_CAR: &str = "espalier documents delete cars 0 --store embedded:garage";

/// The prefixes of example commands that can run in the test.
const RUNNABLE_PREFIXES: &[&str] = &["espalier ", "export ESPALIER", "cat "];

/// Examples that need a server, do not end or take long.
const NOT_RUNNABLE: &[&str] = &[
    "db.example",
    "redis://",
    "espalier serve",
    "espalier netconf-stdio",
    // Run in the guide, against a server.
    "espalier netconf ",
    "espalier audit follow",
    // Stays connected to a server.
    "espalier provide",
    "espalier notifications --follow",
    // Prompts for a password.
    "espalier user add",
    // The id of no token.
    "0123456789abcdef",
    "espalier bench",
    "espalier completions",
];

#[test]
fn help_examples_of_every_command_run_as_printed() {
    let sandbox = Sandbox::new();
    shell(&sandbox, SETUP);
    let mut commands = vec![String::new()];
    let mut run = 0;
    while let Some(command) = commands.pop() {
        let words: Vec<_> = command.split_whitespace().chain(["--help"]).collect();
        let help = sandbox.run(&words).ok();
        commands.extend(subcommands(&command, &help));
        let script = examples(&help);
        run += script.lines().count();
        check(&sandbox, &command, &script);
    }
    assert!(run > 100, "{run}");
}

/// Runs the examples of one command on a copy of the folder.
fn check(sandbox: &Sandbox, command: &str, script: &str) {
    let mine = Sandbox::new();
    let (from, to) = (sandbox.path(""), mine.path(""));
    shell(
        &mine,
        &format!("cp -r {}/. {}", from.display(), to.display()),
    );
    let before = EXTRA_SETUP.iter().filter(|(of, _)| *of == command);
    before.for_each(|(_, script)| drop(shell(&mine, script)));
    let is_served = script.contains("http://127.0.0.1:8080");
    let server = is_served.then(|| mine.serve(&["--store", "embedded:data"]));
    let url = server.as_ref().map_or("", |server| &server.url);
    shell(&mine, &script.replace("http://127.0.0.1:8080", url));
}

/// The subcommands listed in a help text, each with its parent command.
fn subcommands(command: &str, help: &str) -> Vec<String> {
    let list = help
        .split_once("\nCommands:\n")
        .map_or("", |(_, list)| list);
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    let names = names.filter(|name| *name != "help");
    names
        .map(|name| format!("{command} {name}").trim().to_owned())
        .collect()
}

/// The command lines in a help text, with their continuation lines.
fn examples(help: &str) -> String {
    let (mut script, mut goes_on) = (String::new(), false);
    for line in help.lines() {
        let begins = line.strip_prefix("  ").is_some_and(|line| {
            RUNNABLE_PREFIXES
                .iter()
                .any(|begins| line.starts_with(begins))
                && !NOT_RUNNABLE
                    .iter()
                    .any(|elsewhere| line.contains(elsewhere))
        });
        if goes_on || begins {
            assert!(line.len() <= COLUMNS, "{} columns: {line}", line.len());
            script.push_str(line);
            script.push('\n');
            goes_on = line.ends_with('\\');
        }
    }
    script
}
