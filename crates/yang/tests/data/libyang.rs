//! Random documents: round trips, and comparison with libyang.

use espalier_testkit::oracle::documents::{Documents, shuffle};
use espalier_testkit::oracle::libyang::{Format, Libyang};
use espalier_testkit::oracle::mutants::{mutate_json, mutate_xml, shuffle_json};
use espalier_testkit::seed;
use espalier_yang::data::{Content, DataNode, DataTree, ParseError, ParseOptions, Root};

use crate::documents::{
    json_of, parse_json, parse_xml, schema, source, tree_of_json, tree_of_xml, xml_of,
};

const ROUNDS: usize = 300;

#[test]
fn trees_round_trip_through_both_formats() {
    let schema = schema();
    seed::run("trees_round_trip_through_both_formats", |random| {
        for _ in 0..ROUNDS {
            let tree = Documents::new(&schema, random).tree();
            let json = json_of(&schema, &tree);
            assert_eq!(json_of(&schema, &tree_of_json(&schema, &json)), json);
            let xml = xml_of(&schema, &tree);
            assert_eq!(json_of(&schema, &tree_of_xml(&schema, &xml)), json, "{xml}");
            let mut document = serde_json::from_str(&json).unwrap();
            shuffle_json(random, &mut document);
            let shuffled = tree_of_json(&schema, &document.to_string());
            assert!(shuffled.is_equivalent(&tree, &schema), "{json}\n{document}");
            let mut shuffled = tree.clone();
            shuffle(&schema, random, &mut shuffled.nodes);
            let xml = xml_of(&schema, &shuffled);
            assert!(
                tree_of_xml(&schema, &xml).is_equivalent(&tree, &schema),
                "{xml}"
            );
        }
    });
}

#[test]
fn libyang_reads_what_we_print() {
    let (schema, libyang) = (schema(), Libyang::new(&source()));
    seed::run("libyang_reads_what_we_print", |random| {
        for _ in 0..ROUNDS {
            let tree = Documents::new(&schema, random).tree();
            for (format, text) in [
                (Format::Json, json_of(&schema, &tree)),
                (Format::Xml, xml_of(&schema, &tree)),
            ] {
                let theirs = libyang
                    .read(format, &text)
                    .unwrap_or_else(|error| panic!("{error}\n{text}"));
                let theirs = tree_of_json(&schema, &theirs);
                assert!(
                    theirs.is_equivalent(&tree, &schema),
                    "{text}\n{}",
                    json_of(&schema, &theirs)
                );
            }
        }
    });
}

#[test]
fn libyang_agrees_on_mutants() {
    let (schema, libyang) = (schema(), Libyang::new(&source()));
    let options = ParseOptions::default();
    seed::run("libyang_agrees_on_mutants", |random| {
        let mut accepted = 0;
        for _ in 0..ROUNDS * 4 {
            let tree = Documents::new(&schema, random).tree();
            let mut document = serde_json::from_str(&json_of(&schema, &tree)).unwrap();
            mutate_json(random, &mut document);
            let text = document.to_string();
            let ours = parse_json(&schema, &text, Root::Datastore, &options);
            accepted += usize::from(ours.is_ok());
            agree(&schema, ours, libyang.read(Format::Json, &text), &text);
            let text = mutate_xml(random, &xml_of(&schema, &tree));
            let ours = parse_xml(&schema, &text, Root::Datastore, &options);
            accepted += usize::from(ours.is_ok());
            if !has_duplicates(&ours) {
                agree(&schema, ours, libyang.read(Format::Xml, &text), &text);
            }
        }
        assert!(
            accepted > ROUNDS / 2,
            "only {accepted} mutants were accepted"
        );
    });
}

/// libyang 5.4.9 sorts an entry that has an additional key by the wrong values, and may crash.
fn has_duplicates(ours: &Result<DataTree, ParseError>) -> bool {
    match ours {
        Err(ParseError::Invalid(errors)) => errors
            .iter()
            .any(|error| error.message.contains("is given twice")),
        _ => false,
    }
}

/// Removes anydata and anyxml: both programs store unknown content in their own way.
fn remove_any(nodes: &mut [DataNode]) {
    for node in nodes {
        match &mut node.content {
            Content::Any(json) => "{}".clone_into(json),
            Content::Inner(children) => remove_any(children),
            _ => {}
        }
    }
}

fn agree(
    schema: &espalier_yang::Schema,
    ours: Result<DataTree, ParseError>,
    theirs: Result<String, String>,
    text: &str,
) {
    match (ours, theirs) {
        (Ok(mut ours), Ok(theirs)) => {
            let mut theirs = tree_of_json(schema, &theirs);
            remove_any(&mut ours.nodes);
            remove_any(&mut theirs.nodes);
            assert!(
                ours.is_equivalent(&theirs, schema),
                "{text}\n{}",
                json_of(schema, &theirs)
            );
        }
        (Err(_), Err(_)) => {}
        (Ok(_), Err(error)) => panic!("we accept, libyang: {error}\n{text}"),
        (Err(error), Ok(_)) => panic!("libyang accepts, we: {error}\n{text}"),
    }
}
