//! `espalier access import-permissions`: sysrepo's permissions as access rules.

use serde_json::{Value, json};

use crate::interfaces_data::store;
use crate::process::Sandbox;
use crate::users::{ETH0, PASSWORD, add_user, basic, run_as, send};

const STORE: [&str; 2] = ["--store", "embedded:store"];

const RULES: [&str; 6] = [
    "get",
    "/ietf-netconf-acm:nacm/rule-list",
    "--dataspace",
    "espalier",
    "--anchor",
    "server",
];

/// What `sysrepoctl --list` of sysrepo 5 prints.
const LISTING: &str = "\
Sysrepo repository: /etc/sysrepo

Module Name     | Revision   | Flags | Startup Owner | Startup Perms | Running Perms | Features
---------------------------------------------------------------------------------------------
iana-if-type    | 2014-05-08 | I     | root:root     | 644           | 644           |
ietf-inet-types | 2013-07-15 | i     |               |               |               |
ietf-interfaces | 2018-02-20 | I     | maria:netops  | 600           | 640           | if-mib
 sub-of-it      | 2018-02-20 | s     |               |               |               |
ietf-ip         | 2018-02-22 | IR    | root:root     | 666           | 666           |

Flags meaning: I - Installed/i - Imported/s - Submodule; R - Replay support

";

fn import(sandbox: &Sandbox, listing: &str, more: &[&str]) -> String {
    let command = ["access", "import-permissions", "-"];
    let arguments = [&command, more, &STORE[..]].concat();
    sandbox.run_with(&arguments, listing.as_bytes(), &[]).ok()
}

/// The names of the rule lists.
fn rule_lists(sandbox: &Sandbox) -> Vec<String> {
    let all = sandbox.run(&[&RULES[..], &STORE].concat()).json();
    let lists = all["ietf-netconf-acm:rule-list"].as_array().expect("lists");
    let names = lists.iter().map(|list| list["name"].as_str());
    names.map(|name| name.expect("a name").to_owned()).collect()
}

#[test]
fn owner_group_and_others_have_the_access_of_sysrepo() {
    let (sandbox, access) = store();
    add_user(&sandbox, &["root", "--admin"]);
    for (user, group) in [("clerk", "netops"), ("guest", "guests")] {
        add_user(&sandbox, &[user, "--group", group]);
    }
    for user in ["maria", "nobody"] {
        add_user(&sandbox, &[user]);
    }
    let report = import(&sandbox, LISTING, &["--json"]);
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["modules"], 3, "{report}");
    let note = report["notes"][0].as_str().expect("a note");
    assert!(note.contains("ietf-interfaces: the mode 640"), "{note}");
    let server = sandbox.serve(&access);
    // The address is of ietf-ip, in the tree of ietf-interfaces: the mode of the latter counts, as in sysrepo.
    let address = format!("{ETH0}/ietf-ip:ipv4/mtu");
    let users = [
        ("root", true, true),
        ("maria", true, true),
        ("clerk", true, false),
        ("guest", false, false),
        ("nobody", false, false),
    ];
    for (mtu, (user, may_read, may_write)) in (1400..).zip(users) {
        let login = [("authorization", &*basic(user, PASSWORD))];
        for (path, value) in [
            (&*format!("{ETH0}/description"), user),
            (&*address, &*mtu.to_string()),
        ] {
            let url = format!("/restconf/data{path}");
            let status = send(&server, "GET", &url, &login, "").status;
            assert_eq!(status == 200, may_read, "{user} {path} {status}");
            let written = run_as(&sandbox, &server, user, &["set", path, value]);
            assert_eq!(written.status == 0, may_write, "{user} {path} {written:?}");
        }
    }
}

#[test]
fn a_dry_run_prints_the_rules_and_an_import_replaces_the_one_before() {
    let (sandbox, _) = store();
    add_user(&sandbox, &["root", "--admin"]);
    let printed = import(&sandbox, LISTING, &["--dry-run"]);
    let printed: Value = serde_json::from_str(&printed).expect("JSON");
    let nacm = &printed["ietf-netconf-acm:nacm"];
    assert_eq!(nacm["read-default"], "deny");
    assert_eq!(
        nacm["rule-list"][0]["rule"][0],
        json!({"name": "permit /ietf-interfaces:interfaces", "path": "/ietf-interfaces:interfaces",
            "access-operations": "create read update delete", "action": "permit"})
    );
    assert_eq!(rule_lists(&sandbox), ["admin"]);
    import(&sandbox, LISTING, &[]);
    let imported = ["admin", "sysrepo-owner-maria", "sysrepo-group-netops"];
    assert_eq!(rule_lists(&sandbox), imported);
    let other = LISTING.replace("maria:netops", "root:admins");
    import(&sandbox, &other, &[]);
    let imported = ["admin", "sysrepo-owner-root", "sysrepo-group-admins"];
    assert_eq!(rule_lists(&sandbox), imported);
}

#[test]
fn another_document_is_refused_with_its_line() {
    let (sandbox, _) = store();
    add_user(&sandbox, &["root", "--admin"]);
    sandbox.write("list.txt", LISTING.replace("| 640 ", "| 6x0 "));
    let import = ["access", "import-permissions", "list.txt"];
    let error = sandbox.run(&[&import, &STORE[..]].concat()).failed(1);
    assert!(error.contains("line 7: \"6x0\" is no mode"), "{error}");
    assert!(error.contains("list.txt"), "{error}");
    assert_eq!(rule_lists(&sandbox), ["admin"]);
}
