//! Verdicts compared with libyang, for which the data of each instance of a mount point are a document of the mounted
//! modules alone (RFC 8528 §4). Its own schema mount is no oracle: libyang 5 validates the top-level nodes of an instance
//! one by one, and then misses those before them.

use std::fmt::Write;

use espalier_testkit::oracle::libyang::Libyang;
use espalier_testkit::seed;
use espalier_yang::schema::SchemaSource;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::fixture::{OPTICS, ROUTER, compile, devices, errors, fleet, inline, modules, shared};

/// Random content of a router: names from a small set, so that references and counts often hold and often do not.
fn router(random: &mut StdRng, optical: bool) -> String {
    let name = |random: &mut StdRng| *["a", "b", "c", "d"].choose(random).unwrap();
    let mut text = String::from(r#""router:system":{"#);
    let hostname = ["h", "alone"].choose(random).unwrap();
    if random.random_bool(0.9) {
        write!(text, r#""hostname":"{hostname}""#).unwrap();
    } else {
        write!(text, r#""dns":["x"]"#).unwrap();
    }
    if random.random_bool(0.4) {
        write!(text, r#","main":"{}""#, name(random)).unwrap();
    }
    text.push_str("},\"router:interface\":[");
    let count = random.random_range(1..=4);
    for (index, name_of) in ["a", "b", "c", "d"][..count].iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(text, r#"{comma}{{"name":"{name_of}""#).unwrap();
        for (chance, member) in [
            (0.2, r#""enabled":false"#.to_owned()),
            (0.3, r#""media":"router:copper""#.to_owned()),
            (
                0.2,
                format!(r#""mtu":{}"#, random.random_range(8000..10000)),
            ),
            (0.3, format!(r#""peer":"{}""#, name(random))),
            (0.1, r#""media":"optics:fibre""#.to_owned()),
            (
                if optical { 0.3 } else { 0.02 },
                r#""optics:wavelength":1"#.to_owned(),
            ),
        ] {
            let is_twice =
                member.starts_with("\"media") && text.rsplit('{').next().unwrap().contains("media");
            if random.random_bool(chance) && !is_twice {
                write!(text, ",{member}").unwrap();
            }
        }
        text.push('}');
    }
    text.push(']');
    if random.random_bool(if optical { 0.9 } else { 0.05 }) {
        let channel = random.random_range(0..3);
        write!(text, r#","optics:transponder":{{"channel":{channel}}}"#).unwrap();
    }
    text
}

#[track_caller]
fn compare(source: &SchemaSource, name: &str, mounted: &[&str]) {
    let schema = compile(source);
    let oracle = Libyang::new(&modules(mounted));
    let mut random = seed::generator();
    let mut counts = [0, 0];
    for _ in 0..400 {
        let model = match name {
            "" => String::new(),
            name => format!(r#""model":"{name}","#),
        };
        let routers: Vec<String> = (0..random.random_range(1..=2))
            .map(|_| router(&mut random, mounted.contains(&OPTICS)))
            .collect();
        let theirs: Result<(), String> = routers
            .iter()
            .try_for_each(|router| oracle.validate(&format!("{{{router}}}")));
        let entries = routers.iter().enumerate();
        let entries: Vec<String> = entries
            .map(|(number, router)| format!(r#"{{"name":"d{number}",{model}"root":{{{router}}}}}"#))
            .collect();
        let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
        let document = devices(&entries);
        let own = errors(&schema, &document);
        assert_eq!(
            own.is_empty(),
            theirs.is_ok(),
            "{document}\nEspalier: {own}\nlibyang: {theirs:?}"
        );
        counts[usize::from(own.is_empty())] += 1;
    }
    assert!(counts.iter().all(|&count| count > 20), "{counts:?}");
}

#[test]
fn a_shared_schema_has_the_verdicts_of_libyang() {
    compare(&fleet(shared(&[ROUTER], &[])), "", &[ROUTER]);
}

#[test]
fn inline_schemas_have_the_verdicts_of_libyang() {
    let schemas: [(&str, &[&str]); 2] = [("plain", &[ROUTER]), ("optical", &[ROUTER, OPTICS])];
    let source = fleet(inline("model", &schemas));
    compare(&source, "plain", &[ROUTER]);
    compare(&source, "optical", &[ROUTER, OPTICS]);
}
