//! Values of each type, valid and invalid, as text and in documents.

use super::requests::{edit, read, set};
use crate::everywhere::Case;

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![valid(), as_text(), in_documents()]
}

fn valid() -> Case {
    Case::new("valid values")
        .ok(set("/orchard:c/text", "off and on"))
        .ok(set("/orchard:c/weight", "10"))
        .ok(set("/orchard:c/fruit", "orchard:apple"))
        .ok(set("/orchard:c/fruit", "pear"))
        .ok(set("/orchard:c/size", "large"))
        .ok(set("/orchard:c/flags", "picked ripe"))
        .ok(set("/orchard:c/photo", "AAEC"))
        .ok(set("/orchard:c/either", "7"))
        .ok(set("/orchard:c/either", "none"))
        .ok(set("/orchard:c/total", "1.5"))
        .ok(set("/orchard:c/big", "18446744073709551615"))
        .ok(set("/orchard:c/here", "/orchard:c/text"))
        .ok(set("/orchard:c/nothing", ""))
        .ok(set("/orchard:c/e=new,7/box/inner/w", "deep"))
        .ok(set("/orchard:c/w", "4"))
        .ok(set("/orchard:tree=%20/age", "0"))
        .ok(read("/"))
}

fn as_text() -> Case {
    let table = [
        ("/orchard:c/text", "Upper"),
        ("/orchard:c/text", "aaaaaaaaaaaaaaaaaaaaaaaaa"),
        ("/orchard:c/weight", "11"),
        ("/orchard:c/weight", "heavy"),
        ("/orchard:c/fruit", "orchard:fruit"),
        ("/orchard:c/fruit", "other:apple"),
        ("/orchard:c/size", "Small"),
        ("/orchard:c/flags", "ripe rotten"),
        ("/orchard:c/photo", "~"),
        ("/orchard:c/either", "300"),
        ("/orchard:c/total", "1.234"),
        ("/orchard:c/big", "18446744073709551616"),
        ("/orchard:c/big", "-1"),
        ("/orchard:c/nothing", "x"),
    ];
    let case = Case::new("wrong values as text");
    table.into_iter().fold(case, |case, (path, value)| {
        case.fails("invalid-value", set(path, value))
    })
}

fn in_documents() -> Case {
    [
        r#"{"orchard:c":{"text":"Upper"}}"#,
        r#"{"orchard:c":{"text":7}}"#,
        r#"{"orchard:c":{"weight":0}}"#,
        r#"{"orchard:c":{"weight":"5"}}"#,
        r#"{"orchard:c":{"weight":1.5}}"#,
        r#"{"orchard:c":{"fruit":"quince"}}"#,
        r#"{"orchard:c":{"size":"medium"}}"#,
        r#"{"orchard:c":{"big":1}}"#,
        r#"{"orchard:c":{"nothing":true}}"#,
        r#"{"orchard:c":{"total":"x"}}"#,
        "{\"orchard:c\":{\"text\":\"Upper\",\n\"weight\":0,\n\"size\":\"medium\"}}",
    ]
    .into_iter()
    .fold(Case::new("wrong values in documents"), |case, text| {
        case.fails("invalid-value", edit(text))
    })
}
