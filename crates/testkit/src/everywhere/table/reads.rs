//! Reads of each kind of resource, and wrong paths.

use super::requests::{read, read_in, xml};
use crate::everywhere::{Case, Format, Operation, Read};

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![
        existing(),
        missing(),
        wrong_paths(),
        in_xml(),
        datastores(),
        special_keys(),
    ]
}

fn existing() -> Case {
    [
        "/",
        "/orchard:c",
        "/orchard:c/text",
        "/orchard:c/weight",
        "/orchard:c/e",
        "/orchard:c/e=a,1",
        "/orchard:c/e=a,1/box",
        "/orchard:c/e=a,1/box/inner/w",
        "/orchard:c/e=a,1/k",
        "/orchard:c/u",
        "/orchard:c/u=2",
        "/orchard:c/w",
        "/orchard:c/w=2",
        "/orchard:tree",
        "/orchard:tree=oak",
        "/orchard:tree=oak/age",
        "/orchard:tag",
        "/orchard:tag=x",
    ]
    .into_iter()
    .fold(Case::new("existing resources"), |case, path| {
        case.ok(read(path))
    })
}

fn missing() -> Case {
    [
        "/orchard:c/p",
        "/orchard:c/table",
        "/orchard:c/e=z,1",
        "/orchard:c/e=a,9",
        "/orchard:c/e=z,1/box/v",
        "/orchard:c/e=b,2/box",
        "/orchard:c/u=9",
        "/orchard:c/w=9",
        "/orchard:c/few",
        "/orchard:tree=ash",
        "/orchard:tree=elm/age",
        "/orchard:tag=z",
        "/orchard:c/seen",
        "/orchard:c/pc",
    ]
    .into_iter()
    .fold(Case::new("missing resources"), |case, path| {
        case.missing(read(path))
    })
}

fn wrong_paths() -> Case {
    let table = [
        ("unknown-element", "/orchard:absent"),
        ("unknown-element", "/orchard:c/absent"),
        ("unknown-element", "/orchard:c/e=a,1/box/absent"),
        ("unknown-namespace", "/other:c"),
        ("unknown-namespace", "/orchard:c/other:text"),
        ("invalid-value", "/orchard:c/e=a,many"),
        ("invalid-value", "/orchard:c/e=a,256"),
        ("missing-element", "/orchard:c/e=a"),
        ("invalid-value", "/orchard:c/e=a,1,2"),
        ("invalid-value", "/orchard:c/text=x"),
        ("invalid-value", "/orchard:c=x"),
        ("malformed-message", "/orchard:c//text"),
        ("missing-element", "/orchard:c/e/box"),
    ];
    let case = Case::new("wrong paths");
    table
        .into_iter()
        .fold(case, |case, (tag, path)| case.fails(tag, read(path)))
}

fn in_xml() -> Case {
    [
        "/",
        "/orchard:c",
        "/orchard:c/e=a,1",
        "/orchard:c/text",
        "/orchard:tree=oak",
    ]
    .into_iter()
    .fold(Case::new("reads in XML"), |case, path| {
        let format = Format::Xml;
        case.ok(Read {
            format,
            ..read(path)
        })
    })
    .missing(Read {
        format: Format::Xml,
        ..read("/orchard:c/p")
    })
}

fn datastores() -> Case {
    [
        "candidate",
        "startup",
        "factory-default",
        "intended",
        "operational",
    ]
    .into_iter()
    .fold(Case::new("reads of each datastore"), |case, datastore| {
        case.ok(read_in(datastore, "/"))
    })
    .ok(read_in("candidate", "/orchard:c/text"))
    .ok(read_in("intended", "/orchard:c/text"))
    .ok(read_in("operational", "/orchard:c/text"))
    .missing(read_in("startup", "/orchard:c/text"))
}

/// Characters with a meaning in paths, in URLs or in shells.
fn special_keys() -> Case {
    Case::new("special keys")
        .ok(read("/orchard:tree=a%2Fb%2C%20c"))
        .ok(Operation::Load {
            datastore: "running",
            body: xml(
                "<tree xmlns=\"urn:espalier:test:orchard\"><name>é '&amp;\" =%</name><age>1</age></tree>",
            ),
            replaces: false,
        })
        .ok(read("/orchard:tree=%C3%A9%20%27%26%22%20%3D%25"))
        .ok(read("/orchard:tree"))
}
