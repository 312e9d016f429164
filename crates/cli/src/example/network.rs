//! A network: devices with interfaces, addresses and links, under a small model of our own and
//! the IETF's ietf-interfaces and ietf-ip. The same every time.

use std::io;
use std::path::{Path, PathBuf};

use espalier_yang::standard;
use serde_json::{Value, json};

/// Our own model.
const MODEL: &str = include_str!("../../../../models/espalier-network.yang");

/// The file of our own model.
const MODEL_FILE: &str = "espalier-network.yang";

/// Modules of others that the data is under.
const MODULES: [&str; 5] = [
    "iana-if-type",
    "ietf-inet-types",
    "ietf-interfaces",
    "ietf-ip",
    "ietf-yang-types",
];

/// Devices that are in the core, and join the others: one in this many.
const CORE_EVERY: u32 = 20;

/// Interfaces of a device.
const INTERFACES: u32 = 4;

/// The files of the example in a folder, and what is in them: the models and `network.json`.
pub fn files(folder: &Path, devices: u32) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut files = vec![(folder.join(MODEL_FILE), MODEL.as_bytes().to_vec())];
    for name in MODULES {
        let module = standard::module(name, None)
            .ok_or_else(|| io::Error::other(format!("the module {name} is not built in")))?;
        let file = folder.join(format!("{name}.yang"));
        files.push((file, module.text.as_bytes().to_vec()));
    }
    let mut text = serde_json::to_vec_pretty(&network(devices))?;
    text.push(b'\n');
    files.push((folder.join("network.json"), text));
    Ok(files)
}

fn network(devices: u32) -> Value {
    let names = Names { devices };
    let all: Vec<_> = (0..devices).map(|number| device(&names, number)).collect();
    let links: Vec<_> = (0..devices)
        .filter(|&number| names.uplink(number) != number)
        .map(|number| link(&names, number))
        .collect();
    let uplinks: Vec<_> = (0..devices)
        .map(|number| management(&names, number))
        .collect();
    json!({
        "espalier-network:network": {"device": all, "link": links},
        "ietf-interfaces:interfaces": {"interface": uplinks},
    })
}

struct Names {
    devices: u32,
}

impl Names {
    fn is_core(number: u32) -> bool {
        number.is_multiple_of(CORE_EVERY)
    }

    fn device(&self, number: u32) -> String {
        match (Self::is_core(number), number % CORE_EVERY) {
            (true, _) => format!("core-{}", number / CORE_EVERY + 1),
            (_, 1) => format!("aggregation-{}", number / CORE_EVERY + 1),
            _ => format!(
                "access-{}-{}",
                number / CORE_EVERY + 1,
                number % CORE_EVERY - 1
            ),
        }
    }

    fn role(number: u32) -> &'static str {
        match (Self::is_core(number), number % CORE_EVERY) {
            (true, _) => "core",
            (_, 1) => "aggregation",
            _ => "access",
        }
    }

    /// The device that this one is connected to, nearer to the core.
    fn uplink(&self, number: u32) -> u32 {
        let group = number - number % CORE_EVERY;
        match number - group {
            // Core devices are a ring.
            0 => (group + CORE_EVERY) % self.devices.next_multiple_of(CORE_EVERY),
            1 => group,
            _ => group + 1,
        }
    }
}

fn management_address(number: u32) -> String {
    format!(
        "10.{}.{}.{}",
        number >> 16,
        (number >> 8) & 0xff,
        number & 0xff
    )
}

fn device(names: &Names, number: u32) -> Value {
    let interfaces: Vec<_> = (0..INTERFACES)
        .map(|index| interface(names, number, index))
        .collect();
    json!({
        "name": names.device(number),
        "role": Names::role(number),
        "site": format!("site-{}", number / CORE_EVERY + 1),
        "management-address": management_address(number),
        "tag": [Names::role(number), format!("rack-{}", number % 7 + 1)],
        "interface": interfaces,
    })
}

fn interface(names: &Names, number: u32, index: u32) -> Value {
    let bytes = (number * INTERFACES + index).to_be_bytes();
    let mac = format!(
        "02:00:{:02x}:{:02x}:{:02x}:{:02x}",
        bytes[0], bytes[1], bytes[2], bytes[3]
    );
    let description = match index {
        0 => format!("uplink to {}", names.device(names.uplink(number))),
        _ => format!("customer port {index}"),
    };
    json!({
        "name": format!("ge-0/0/{index}"),
        "type": "iana-if-type:ethernetCsmacd",
        "description": description,
        "enabled": index < INTERFACES - 1,
        "mac-address": mac,
        "address": [
            {"ip": format!("10.{}.{}.{}", 128 + index, (number >> 8) & 0xff, number & 0xff), "prefix-length": 31},
            {"ip": format!("2001:db8:{number:x}:{index:x}::1"), "prefix-length": 64},
        ],
    })
}

fn link(names: &Names, number: u32) -> Value {
    let (a, b) = (names.device(number), names.device(names.uplink(number)));
    let speed: u64 = if Names::is_core(number) {
        100_000_000_000
    } else {
        10_000_000_000
    };
    json!({"name": format!("{a}--{b}"), "a-device": a, "b-device": b, "speed": speed.to_string()})
}

/// The management station's own interface towards a device.
fn management(names: &Names, number: u32) -> Value {
    json!({
        "name": format!("to-{}", names.device(number)),
        "type": "iana-if-type:l2vlan",
        "description": format!("management of {}", names.device(number)),
        "enabled": true,
        "ietf-ip:ipv4": {
            "mtu": 1500,
            "address": [{"ip": management_address(number + 1), "prefix-length": 8}],
        },
        "ietf-ip:ipv6": {
            "address": [{"ip": format!("2001:db8:ffff:{number:x}::1"), "prefix-length": 64}],
        },
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_links_lead_to_devices() {
        for devices in [1, 2, 20, 21, 399, 400] {
            let network = network(devices);
            let network = &network["espalier-network:network"];
            let devices_of = network["device"].as_array().expect("devices");
            let names: BTreeSet<_> = devices_of
                .iter()
                .map(|device| device["name"].as_str())
                .collect();
            assert_eq!(names.len(), devices as usize);
            for link in network["link"].as_array().expect("links") {
                assert!(
                    names.contains(&link["b-device"].as_str()),
                    "{link} of {devices}"
                );
            }
        }
    }
}
