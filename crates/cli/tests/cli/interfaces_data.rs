//! Test data: interfaces and their modules.

/// A small document of ietf-interfaces and ietf-ip.
pub const INTERFACES: &str = r#"{
  "ietf-interfaces:interfaces": {
    "interface": [
      {
        "name": "eth0",
        "type": "iana-if-type:ethernetCsmacd",
        "description": "uplink",
        "ietf-ip:ipv4": {
          "mtu": 1500,
          "address": [{"ip": "192.0.2.1", "prefix-length": 24}]
        }
      },
      {
        "name": "a/b, \"c\"",
        "type": "iana-if-type:ethernetCsmacd"
      }
    ]
  }
}
"#;

/// The modules of the document.
pub const MODULES: [&str; 6] = [
    "--yang",
    "ietf-interfaces",
    "--yang",
    "ietf-ip",
    "--yang",
    "iana-if-type",
];

/// Creates a store with the document.
pub fn store() -> (crate::process::Sandbox, Vec<&'static str>) {
    let sandbox = crate::process::Sandbox::new();
    sandbox.write("interfaces.json", INTERFACES);
    let access = vec!["--store", "embedded:store"];
    let arguments = [&["load", "interfaces.json"], &access[..], &MODULES].concat();
    sandbox.run(&arguments).ok();
    (sandbox, access)
}
