//! Generated documents of devices, of 86 fragments each, and of books.

use espalier_yang::data::DataNode;

use crate::generated_document::{GeneratedDocument, List};
use crate::model_store::Model;

/// The model of devices.
pub const DEVICES_MODEL: Model = Model {
    name: "espalier-bench-devices",
    text: include_str!("../models/espalier-bench-devices.yang"),
};

/// The model of books.
pub const BOOKS_MODEL: Model = Model {
    name: "espalier-bench-books",
    text: include_str!("../models/espalier-bench-books.yang"),
};

/// The container of all devices.
pub const DEVICES: &str = "/espalier-bench-devices:devices";

/// The list of devices.
pub const DEVICE: &str = "/espalier-bench-devices:devices/device";

/// The largest number of devices: a tree in memory cannot have more nodes.
pub const DEVICES_MAX: u64 = 15_000;

/// The number of degrees of a device.
const DEGREES: u64 = 28;

/// The number of containers and list entries of a device: itself, its equipment, and three for each degree.
pub const FRAGMENTS: u64 = 2 + 3 * DEGREES;

/// The initial status of devices.
pub const SUCCESS: &str = "success";

/// A different status.
pub const FAIL: &str = "fail";

/// The key of a device.
pub fn id(number: u64) -> String {
    format!("C-7-1A-{number}")
}

/// The path of a device, as text.
pub fn path_of(number: u64) -> String {
    format!("{DEVICE}[device-id='{}']", id(number))
}

/// A document of devices, generated while it is read.
pub fn document(
    numbers: impl Iterator<Item = u64> + 'static,
    status: &'static str,
) -> GeneratedDocument<'static> {
    let degrees: Vec<_> = (1..=DEGREES).map(degree).collect();
    let equipment = format!(r#""equipment":{{"degree":[{}]}}"#, degrees.join(","));
    let devices: List<'static> = Box::new(numbers.map(move |number| {
        let id = id(number);
        format!(
            r#"{{"device-id":"{id}","ne-state":"inservice","commission-date-time":"2026-11-22T10:00:00Z","status":"{status}",{equipment}}}"#
        )
    }));
    let begin = format!(r#"{{"{}:devices":{{"device":["#, DEVICES_MODEL.name);
    GeneratedDocument::lists(vec![(begin, devices)], "]}}")
}

fn degree(number: u64) -> String {
    format!(
        r#"{{"degree-number":{number},"max-wavelengths":128,"circuit-packs":[{{"index":1}}],"connection-ports":[{{"index":1}}]}}"#
    )
}

/// A document of books of one category.
pub fn books(numbers: impl Iterator<Item = u64> + 'static) -> GeneratedDocument<'static> {
    let books: List<'static> = Box::new(numbers.map(|number| {
        format!(
            r#"{{"title":"book {number}","language":"English","price":{},"author":["author {}"]}}"#,
            number % 1_000,
            number % 7
        )
    }));
    let begin = format!(
        r#"{{"{}:shop":{{"category":[{{"code":"1","name":"novels","book":["#,
        BOOKS_MODEL.name
    );
    GeneratedDocument::lists(vec![(begin, books)], "]}]}}")
}

/// The number of containers and list entries in trees.
pub fn fragments(nodes: &[DataNode]) -> u64 {
    let inner = nodes.iter().filter(|node| node.value().is_none());
    inner.map(|node| 1 + fragments(node.children())).sum()
}
