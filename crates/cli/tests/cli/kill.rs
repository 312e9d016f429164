//! SIGKILL between and during commits: exactly the acknowledged changes are stored afterwards.

use std::thread;
use std::time::Duration;

use espalier_testkit::seed;
use rand::Rng;
use rand::rngs::StdRng;
use serde_json::json;

use crate::inventory::{Devices, Inventory, tree};
use crate::process::{Sandbox, Server};
use crate::server_engines::servers_under;

const STORE: &str = "embedded:store";

fn export(sandbox: &Sandbox) -> String {
    sandbox.run(&["export", "--store", STORE]).ok()
}

/// Returns whether the store holds exactly these devices.
fn holds_exactly(
    inventory: &Inventory,
    schema: &espalier_yang::Schema,
    exported: &str,
    devices: &Devices,
) -> bool {
    let expected = inventory.document(devices.values().cloned()).to_string();
    tree(schema, exported).is_equivalent(&tree(schema, &expected), schema)
}

/// Load, export, GET of one device, PATCH of one leaf, DELETE of 100 devices, SIGKILL.
fn check_kill_after_changes(inventory: &Inventory, count: u64) {
    let sandbox = Sandbox::new();
    let schema = inventory.schema();
    let mut devices: Devices = (1..=count)
        .map(|number| (number, inventory.device(number)))
        .collect();
    let document = inventory.document(devices.values().cloned()).to_string();
    sandbox.write("devices.json", &document);
    let modules = inventory.modules.display().to_string();
    let loaded = sandbox
        .run(&[
            "load",
            "devices.json",
            "--store",
            STORE,
            "--yang",
            &modules,
            "--validation",
            "structure",
            "--json",
        ])
        .json();
    assert_eq!(
        loaded["fragments"],
        json!(count * inventory.fragments + 1),
        "{loaded}"
    );
    assert!(
        holds_exactly(inventory, &schema, &export(&sandbox), &devices),
        "export is not the input"
    );

    let server = sandbox.serve(&["--store", STORE]);
    let answer = server.request("GET", &inventory.device_path(7), None);
    assert_eq!(answer.status, 200, "{answer:?}");
    let got: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
    let device = got[inventory.qualified_list()][0].clone();
    let alone = inventory.document([device]).to_string();
    let expected = inventory.document([devices[&7].clone()]).to_string();
    assert!(
        tree(&schema, &alone).is_equivalent(&tree(&schema, &expected), &schema),
        "GET of one device"
    );

    change(inventory, &server, &mut devices, 7, inventory.values[1]);
    for number in 1..=100 {
        let answer = server.request("DELETE", &inventory.device_path(number), None);
        assert_eq!(answer.status, 204, "{answer:?}");
        devices.remove(&number);
    }
    server.kill();
    assert!(
        holds_exactly(inventory, &schema, &export(&sandbox), &devices),
        "after SIGKILL"
    );
    sandbox.run(&["check", "--store", STORE]).ok();
}

fn change(inventory: &Inventory, server: &Server, devices: &mut Devices, number: u64, value: &str) {
    let module = inventory.top.split(':').next().expect("a module");
    let path = format!("{}/{}", inventory.device_path(number), inventory.leaf);
    let body = json!({format!("{module}:{}", inventory.leaf): value}).to_string();
    let answer = server.request("PATCH", &path, Some(&body));
    assert_eq!(answer.status, 204, "{answer:?}");
    devices.get_mut(&number).expect("a device")[inventory.leaf] = json!(value);
}

#[test]
fn a_thousand_devices_of_our_own_model_survive() {
    check_kill_after_changes(&Inventory::own(), 1000);
}

#[test]
fn a_thousand_openroadm_devices_survive() {
    match Inventory::openroadm() {
        Some(inventory) => check_kill_after_changes(&inventory, 1000),
        None => eprintln!("skipped: there is no ../shared/data/openroadm"),
    }
}

/// A change as a request of a client.
struct Change {
    number: u64,
    method: &'static str,
    path: String,
    body: Option<String>,
    after: Option<serde_json::Value>,
}

fn random_change(inventory: &Inventory, devices: &Devices, random: &mut StdRng) -> Change {
    let number = random.random_range(1..=30);
    let path = inventory.device_path(number);
    let Some(device) = devices.get(&number) else {
        return put_change(inventory, number, inventory.device(number));
    };
    match random.random_range(0..3) {
        0 => Change {
            number,
            method: "DELETE",
            path,
            body: None,
            after: None,
        },
        1 => {
            let mut device = device.clone();
            device[inventory.leaf] = json!(inventory.values[random.random_range(0..2)]);
            put_change(inventory, number, device)
        }
        _ => {
            let mut device = device.clone();
            device["commissioned"] = json!(format!("{}", random.random::<u64>()));
            let body = json!({inventory.qualified_list(): [{
                "device-id": Inventory::id(number), "commissioned": device["commissioned"],
            }]});
            Change {
                number,
                method: "PATCH",
                path,
                body: Some(body.to_string()),
                after: Some(device),
            }
        }
    }
}

fn put_change(inventory: &Inventory, number: u64, device: serde_json::Value) -> Change {
    Change {
        number,
        method: "PUT",
        path: inventory.device_path(number),
        body: Some(json!({inventory.qualified_list(): [&device]}).to_string()),
        after: Some(device),
    }
}

/// Sends changes until the server is killed. Returns the devices after the acknowledged changes, and after the
/// pending one too.
fn change_until_killed(
    inventory: &Inventory,
    server: &Server,
    mut devices: Devices,
    random: &mut StdRng,
) -> (Devices, Devices) {
    loop {
        let change = random_change(inventory, &devices, random);
        let mut after = devices.clone();
        match &change.after {
            Some(device) => after.insert(change.number, device.clone()),
            None => after.remove(&change.number),
        };
        match server.try_request(change.method, &change.path, change.body.as_deref()) {
            Ok(answer) => assert!((200..300).contains(&answer.status), "{answer:?}"),
            Err(_) => return (devices, after),
        }
        devices = after;
    }
}

#[test]
fn kill_during_commits_keeps_acknowledged_changes() {
    let mut random = seed::generator();
    let inventory = Inventory::own();
    let schema = inventory.schema();
    let sandbox = Sandbox::new();
    let modules = inventory.modules.display().to_string();
    let mut devices: Devices = (1..=20)
        .map(|number| (number, inventory.device(number)))
        .collect();
    sandbox.write(
        "devices.json",
        inventory.document(devices.values().cloned()).to_string(),
    );
    sandbox
        .run(&["load", "devices.json", "--store", STORE, "--yang", &modules])
        .ok();
    for round in 0..6 {
        let server = sandbox.serve(&["--store", STORE, "--allow-state-writes"]);
        let id = server.process_id().to_string();
        let pause = Duration::from_millis(random.random_range(20..300));
        let killer = thread::spawn(move || {
            thread::sleep(pause);
            let sent = std::process::Command::new("kill")
                .args(["-KILL", &id])
                .status();
            assert!(sent.expect("kill").success());
        });
        let (acknowledged, under_way) =
            change_until_killed(&inventory, &server, devices, &mut random);
        killer.join().expect("the killer");
        drop(server);
        let exported = export(&sandbox);
        sandbox.run(&["check", "--store", STORE]).ok();
        devices = if holds_exactly(&inventory, &schema, &exported, &acknowledged) {
            acknowledged
        } else {
            assert!(
                holds_exactly(&inventory, &schema, &exported, &under_way),
                "round {round}: neither what was acknowledged nor that and the change under way"
            );
            under_way
        };
    }
}

/// Each client has an entry. Leaves of one commit are equal.
const PAIRS: &str = "module pairs { yang-version 1.1; namespace urn:pairs; prefix p;
  list pair { key name; must 'a = b'; leaf name { type string; } leaf a { type uint32; } leaf b { type uint32; } } }";

/// The number of clients that write at a time.
const CLIENTS: u64 = 16;

/// One of this many requests of a client is refused.
const REFUSED_EVERY: u64 = 5;

/// Writes ascending values until the server is killed; each request has its own, and some are refused. Returns the last
/// acknowledged value, and the one under way.
fn write_pairs_until_killed(server: &Server, client: u64, from: u64) -> (u64, u64) {
    let path = format!("/restconf/data/pairs:pair={client}");
    let mut acknowledged = from;
    for value in from + 1.. {
        let is_refused = value % REFUSED_EVERY == client % REFUSED_EVERY;
        let b = if is_refused { value + 1 } else { value };
        let body = format!(r#"{{"pairs:pair":[{{"name":"{client}","a":{value},"b":{b}}}]}}"#);
        match server.try_request("PUT", &path, Some(&body)) {
            Ok(answer) if is_refused => assert_eq!(answer.status, 412, "{answer:?}"),
            Ok(answer) => {
                assert!([201, 204].contains(&answer.status), "{answer:?}");
                acknowledged = value;
            }
            Err(_) => return (acknowledged, value),
        }
    }
    unreachable!("the server is killed")
}

/// The value of each client, if the leaves of each are equal.
fn pairs(sandbox: &Sandbox, store: &str) -> Vec<u64> {
    let exported = sandbox.run(&["export", "--store", store]).json();
    let of = |client: u64| {
        let entries = exported["pairs:pair"].as_array();
        let mut entries = entries.into_iter().flatten();
        let name = client.to_string();
        let entry = entries.find(|entry| entry["name"] == name)?;
        assert_eq!(entry["a"], entry["b"], "a commit is half there: {entry}");
        entry["a"].as_u64()
    };
    (0..CLIENTS).map(|client| of(client).unwrap_or(0)).collect()
}

/// Commits of many clients share writes: an acknowledged one is never lost, and none is half there.
#[test]
fn kill_during_commits_of_many_clients_keeps_each_acknowledged_one() {
    let mut random = seed::generator();
    let local = ["embedded:store", "file:files", "sqlite:database"].map(str::to_owned);
    for store in local.into_iter().chain(servers_under("policy=uncached")) {
        let sandbox = Sandbox::new();
        sandbox.write("pairs.yang", PAIRS);
        let mut values = vec![0; CLIENTS as usize];
        for round in 0..4 {
            let server = sandbox.serve(&["--store", &store, "--yang", "pairs.yang"]);
            let pause = Duration::from_millis(random.random_range(50..400));
            let written: Vec<(u64, u64)> = thread::scope(|scope| {
                let write = |client| {
                    let (server, from) = (&server, values[client as usize]);
                    scope.spawn(move || write_pairs_until_killed(server, client, from))
                };
                let clients: Vec<_> = (0..CLIENTS).map(write).collect();
                thread::sleep(pause);
                let id = server.process_id().to_string();
                let sent = std::process::Command::new("kill")
                    .args(["-KILL", &id])
                    .status();
                assert!(sent.expect("kill").success());
                clients
                    .into_iter()
                    .map(|client| client.join().expect("a client"))
                    .collect()
            });
            drop(server);
            values = pairs(&sandbox, &store);
            for (client, (found, (acknowledged, last))) in values.iter().zip(&written).enumerate() {
                assert!(
                    acknowledged == found || last == found,
                    "{store}, round {round}, client {client}: {found} instead of {acknowledged}, or {last}"
                );
            }
            sandbox.run(&["check", "--store", &store]).ok();
        }
    }
}

#[test]
fn kill_during_a_load_leaves_all_or_nothing() {
    let mut random = seed::generator();
    let inventory = Inventory::own();
    let schema = inventory.schema();
    let sandbox = Sandbox::new();
    let modules = inventory.modules.display().to_string();
    let number = |number| (number, inventory.device(number));
    let before: Devices = (1..=20).map(number).collect();
    let after: Devices = (1..=4000).map(number).collect();
    for (file, devices) in [("before.json", &before), ("after.json", &after)] {
        let document = inventory.document(devices.values().cloned());
        sandbox.write(file, document.to_string());
    }
    let load = |file| {
        [
            "load",
            file,
            "--replace",
            "--store",
            STORE,
            "--yang",
            &modules,
        ]
    };
    for round in 0..4 {
        sandbox.run(&load("before.json")).ok();
        let mut child = sandbox
            .command(&load("after.json"))
            .spawn()
            .expect("a load");
        thread::sleep(Duration::from_millis(random.random_range(1..200)));
        child
            .kill()
            .expect("a living process, or one that is not waited for");
        let is_done = child.wait().expect("an end").success();
        let exported = export(&sandbox);
        sandbox.run(&["check", "--store", STORE]).ok();
        let is_all = holds_exactly(&inventory, &schema, &exported, &after);
        let is_nothing = holds_exactly(&inventory, &schema, &exported, &before);
        assert!(is_all || (is_nothing && !is_done), "round {round}");
    }
}
