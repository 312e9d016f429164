//! Mutations of documents: a small error, or a change without effect.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};
use serde_json::{Value as Json, json};

/// Changes a JSON document at one place.
pub fn mutate_json(random: &mut StdRng, document: &mut Json) {
    let places = count(document);
    let mut place = random.random_range(0..places);
    let found = find(document, &mut place).expect("a place that was counted");
    change(random, found);
}

/// Shuffles the members of every object.
pub fn shuffle_json(random: &mut StdRng, document: &mut Json) {
    match document {
        Json::Object(object) => {
            let mut members: Vec<_> = std::mem::take(object).into_iter().collect();
            members.shuffle(random);
            members
                .iter_mut()
                .for_each(|(_, value)| shuffle_json(random, value));
            object.extend(members);
        }
        Json::Array(array) => array
            .iter_mut()
            .for_each(|value| shuffle_json(random, value)),
        _ => {}
    }
}

fn count(value: &Json) -> usize {
    1 + match value {
        Json::Object(object) => object.values().map(count).sum(),
        Json::Array(array) => array.iter().map(count).sum(),
        _ => 0,
    }
}

fn find<'a>(value: &'a mut Json, place: &mut usize) -> Option<&'a mut Json> {
    if *place == 0 {
        return Some(value);
    }
    *place -= 1;
    match value {
        Json::Object(object) => object.values_mut().find_map(|value| find(value, place)),
        Json::Array(array) => array.iter_mut().find_map(|value| find(value, place)),
        _ => None,
    }
}

fn change(random: &mut StdRng, value: &mut Json) {
    if random.random_bool(0.15) {
        *value = scalar(random);
        return;
    }
    match value {
        Json::Object(object) if !object.is_empty() => {
            let names: Vec<String> = object.keys().cloned().collect();
            let name = names.choose(random).expect("a member");
            match random.random_range(0..4) {
                0 => drop(object.shift_remove(name)),
                1 => {
                    let value = object.shift_remove(name).expect("a member");
                    let renamed = renamed(random, name);
                    // libyang accepts a list in two members; we reject it.
                    object.retain(|other, _| local(other) != local(&renamed));
                    object.insert(renamed, value);
                }
                2 => drop(object.insert("nothing".to_owned(), scalar(random))),
                _ => {
                    let value = scalar(random);
                    object.insert(name.clone(), value);
                }
            }
        }
        Json::Array(array) if !array.is_empty() => {
            let entry = array.choose(random).expect("an entry").clone();
            match random.random_range(0..3) {
                0 => array.insert(random.random_range(0..=array.len()), entry),
                1 => drop(array.remove(random.random_range(0..array.len()))),
                _ => *value = entry,
            }
        }
        other if random.random_bool(0.2) => *other = json!([other]),
        other => *other = scalar(random),
    }
}

fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// The name with or without a module, possibly a wrong one, or another name.
fn renamed(random: &mut StdRng, name: &str) -> String {
    let local = local(name);
    let prefix = ["", "farm:", "orchard:", "nowhere:"]
        .choose(random)
        .expect("a prefix");
    let suffix = if random.random_bool(0.2) { "x" } else { "" };
    format!("{prefix}{local}{suffix}")
}

fn scalar(random: &mut StdRng) -> Json {
    let scalars = [
        json!(null),
        json!(true),
        json!(0),
        json!(7),
        json!(-129),
        json!(300),
        json!(70_000),
        json!(5_000_000_000_i64),
        json!(1.5),
        json!("5"),
        json!("-7"),
        json!("1.5"),
        json!("1.2345"),
        json!("99999999999999999999"),
        json!(""),
        json!("text"),
        json!("farm:hen"),
        json!("hen"),
        json!("nowhere:hen"),
        json!("red"),
        json!("rake  hoe"),
        json!("hoe hoe"),
        json!("AAEC"),
        json!("A==="),
        json!("\u{1}"),
        json!("/farm:farm/nothing"),
        json!([null]),
        json!([]),
        json!({}),
        json!([1, 2]),
    ];
    scalars.choose(random).expect("a scalar").clone()
}

/// An element of a compact XML document.
#[derive(Clone, Debug, Default)]
struct Element {
    /// The name with the attributes.
    tag: String,
    /// The escaped text, if there are no children.
    text: String,
    children: Vec<Element>,
}

/// Changes an XML document at one place; it must have the form of our printer without layout.
pub fn mutate_xml(random: &mut StdRng, document: &str) -> String {
    let mut root = Element::default();
    let mut rest = document;
    while let Some(element) = read_element(&mut rest) {
        root.children.push(element);
    }
    let mut place = random.random_range(0..elements(&root));
    if let Some(element) = find_element(&mut root, &mut place) {
        change_element(random, element);
    }
    let mut out = String::new();
    root.children
        .iter()
        .for_each(|element| write_element(element, &mut out));
    out
}

fn read_element(rest: &mut &str) -> Option<Element> {
    let start = rest
        .strip_prefix('<')
        .filter(|start| !start.starts_with('/'))?;
    let (tag, after) = start.split_once('>')?;
    *rest = after;
    if let Some(tag) = tag.strip_suffix('/') {
        return Some(Element {
            tag: tag.to_owned(),
            ..Element::default()
        });
    }
    let mut element = Element {
        tag: tag.to_owned(),
        ..Element::default()
    };
    while let Some(child) = read_element(rest) {
        element.children.push(child);
    }
    let (text, after) = rest.split_once("</")?;
    element.text = text.to_owned();
    *rest = after.split_once('>')?.1;
    Some(element)
}

fn elements(element: &Element) -> usize {
    1 + element.children.iter().map(elements).sum::<usize>()
}

fn find_element<'a>(element: &'a mut Element, place: &mut usize) -> Option<&'a mut Element> {
    if *place == 0 {
        return Some(element);
    }
    *place -= 1;
    element
        .children
        .iter_mut()
        .find_map(|child| find_element(child, place))
}

fn change_element(random: &mut StdRng, element: &mut Element) {
    let children = &mut element.children;
    match random.random_range(0..4) {
        0 if !children.is_empty() => {
            children.remove(random.random_range(0..children.len()));
        }
        1 if !children.is_empty() => {
            let copy = children.choose(random).expect("a child").clone();
            children.insert(random.random_range(0..=children.len()), copy);
        }
        2 if !element.tag.is_empty() => element.tag = renamed_tag(random, &element.tag),
        _ => {
            let texts = [
                "",
                " ",
                "5",
                " 5 ",
                "300",
                "-7",
                "true",
                "1",
                "red",
                "hen",
                "f:hen",
                "1.50",
                "text",
                "&#1;",
                "<x/>",
                "rake hoe",
                "AAEC",
                "99999999999999999999",
            ];
            element.children.clear();
            element.text = (*texts.choose(random).expect("a text")).to_owned();
        }
    }
}

fn renamed_tag(random: &mut StdRng, tag: &str) -> String {
    let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
    match random.random_range(0..3) {
        0 => format!("{name}x {attributes}"),
        1 => format!("{name} xmlns=\"urn:nowhere\""),
        _ => format!("{name} xmlns=\"urn:espalier:test:orchard\""),
    }
}

fn write_element(element: &Element, out: &mut String) {
    let name = element.tag.split(' ').next().unwrap_or_default();
    out.push_str(&format!("<{}>", element.tag));
    element
        .children
        .iter()
        .for_each(|child| write_element(child, out));
    out.push_str(&format!("{}</{name}>", element.text));
}
