//! Lists, queries and pages.

use serde_json::{Value, json};

use crate::served::{LINES, Server};
use crate::support::with_cars;

fn filled(policy: &str) -> Server {
    let server = with_cars(policy);
    let lines: String = (0..50)
        .map(|n| {
            let colors = ["red", "blue", "é / &+%"];
            let tags: Vec<_> = [2, 3].into_iter().filter(|by| n % by == 0).map(|by| format!("by {by}")).collect();
            let car = json!({"name": format!("c{n}"), "color": colors[n % 3], "year": n % 7, "keywords": tags});
            format!("{}\n", json!({ "document": car }))
        })
        .collect();
    server
        .request("POST", "/documents/cars/import", LINES, Some(&lines))
        .with(200);
    server
}

fn keys(page: &Value) -> Vec<u64> {
    let documents = page["documents"].as_array().expect("documents");
    documents
        .iter()
        .map(|found| found["key"].as_u64().expect("a key"))
        .collect()
}

/// All pages, by following their links.
fn all_pages(server: &Server, query: &str) -> Vec<u64> {
    let mut path = format!("/documents/cars/items?{query}");
    let mut all = Vec::new();
    loop {
        let response = server.get(&path).with(200);
        all.extend(keys(&response.json()));
        let link = response.header("link").to_owned();
        let Some(next) = link.strip_prefix('<').and_then(|link| link.split_once('>')) else {
            assert!(response.json()["next"].is_null());
            return all;
        };
        path = next.0.to_owned();
    }
}

#[test]
fn pages_give_everything_once_in_order_under_every_policy() {
    for policy in ["uncached", "indexed", "recent", "cached", "ram"] {
        let server = filled(policy);
        let whole: Vec<u64> = (0..50).collect();
        assert_eq!(all_pages(&server, "limit=7"), whole);
        let back: Vec<u64> = (0..50).rev().collect();
        assert_eq!(all_pages(&server, "limit=50&order=desc"), back);
        let red: Vec<u64> = (0..50).filter(|n| n % 3 == 0).collect();
        assert_eq!(all_pages(&server, "limit=4&index=color&value=red"), red);
        let odd: Vec<u64> = (0..50).filter(|n| n % 3 == 2).collect();
        assert_eq!(
            all_pages(&server, "limit=4&index=color&value=%C3%A9+/+%26%2B%25"),
            odd
        );
        let both: Vec<u64> = (0..50).filter(|n| n % 6 == 0).collect();
        assert_eq!(
            all_pages(&server, "limit=2&index=keyword&all=by%202&all=by%203"),
            both
        );
        let either: Vec<u64> = (0..50).filter(|n| n % 2 == 0 || n % 3 == 0).collect();
        assert_eq!(
            all_pages(&server, "limit=9&index=keyword&any=by%202&any=by%203"),
            either
        );
        let mut years: Vec<(u64, u64)> = (0..50)
            .filter(|n| n % 3 == 1 && n % 7 >= 2)
            .map(|n| (n % 7, n))
            .collect();
        years.sort_unstable();
        let years: Vec<u64> = years.into_iter().map(|(_, n)| n).collect();
        let range = "limit=3&index=color-and-year&from=[%22blue%22,2]&to=blue";
        assert_eq!(all_pages(&server, range), years);
        let mut back = years;
        back.reverse();
        assert_eq!(all_pages(&server, &format!("{range}&order=desc")), back);
    }
}

/// A value of this length; most values have a long common prefix.
fn long(n: usize, bytes: usize) -> String {
    format!("{}{n:02}", "x".repeat(bytes - 2))
}

#[test]
fn pages_go_on_after_values_of_any_length() {
    for policy in ["uncached", "indexed", "cached", "ram"] {
        let server = with_cars(policy);
        let lengths = [40, 97, 5_000, 60_000, 600_000];
        let lines: String = (0..20)
            .map(|n| {
                let car =
                    json!({"name": long(19 - n, lengths[n % 5]), "color": long(n / 2, 50_000)});
                format!("{}\n", json!({ "document": car }))
            })
            .collect();
        let import = "/documents/cars/import";
        server
            .request("POST", import, LINES, Some(&lines))
            .with(200);
        for index in ["name", "color", "color-and-year"] {
            let whole = server
                .get(&format!("/documents/cars/items?index={index}&limit=100"))
                .with(200)
                .json();
            let mut whole = keys(&whole);
            assert_eq!(
                all_pages(&server, &format!("index={index}&limit=3")),
                whole,
                "{policy} {index}"
            );
            whole.reverse();
            let back = format!("index={index}&limit=3&order=desc");
            assert_eq!(all_pages(&server, &back), whole, "{policy} {index}");
        }
        let mut path = "/documents/cars/indexes/color?limit=3".to_owned();
        let mut counted = 0;
        loop {
            let page = server.get(&path).with(200).json();
            let values = page["values"].as_array().expect("values");
            counted += values.len();
            let Some(next) = page["next"].as_str() else {
                break;
            };
            assert!(next.len() < 2000, "a cursor of {} bytes", next.len());
            path = format!("/documents/cars/indexes/color?limit=3&cursor={next}");
        }
        assert_eq!(counted, 10, "{policy}");
    }
}

#[test]
fn a_page_after_a_deleted_long_value_is_rejected() {
    let server = with_cars("uncached");
    for n in 0..3 {
        let car = json!({"name": long(n, 50_000)});
        server.send("POST", "/documents/cars/items", &car).with(201);
    }
    let first = server.get("/documents/cars/items?index=name&limit=1");
    let next = first.with(200).json()["next"]
        .as_str()
        .expect("a cursor")
        .to_owned();
    let path = format!("/documents/cars/items?index=name&limit=1&cursor={next}");
    assert_eq!(keys(&server.get(&path).with(200).json()), [1]);
    let item = "/documents/cars/items/0";
    server
        .send("PUT", item, &json!({"name": "short"}))
        .with(204);
    let gone = server.get(&path).with(410);
    assert!(
        gone.body.contains("restart at the first page"),
        "{}",
        gone.body
    );
}

#[test]
fn a_list_has_a_tag_that_changes_with_it() {
    let server = filled("cached");
    let first = server.get("/documents/cars/items").with(200);
    let tag = first.header("etag").to_owned();
    let again = server.request(
        "GET",
        "/documents/cars/items",
        &[("if-none-match", &tag)],
        None,
    );
    again.with(304);
    server
        .send("POST", "/documents/cars/items", &json!({"name": "new"}))
        .with(201);
    let again = server.request(
        "GET",
        "/documents/cars/items",
        &[("if-none-match", &tag)],
        None,
    );
    again.with(200);
}

/// The tag of a list belonged to another state than the page: a client that cached the page received 304
/// for ever. The tag was a counter, so after a restart, or in a restored store, other content had the same
/// tag.
#[test]
fn the_tag_of_a_list_belongs_to_its_page() {
    let list = |server: &Server| {
        let page = server.get("/documents/cars/items").with(200);
        (page.header("etag").to_owned(), page.json())
    };
    for policy in ["cached", "recent", "indexed", "uncached", "ram"] {
        let server = filled(policy);
        let over = std::sync::atomic::AtomicBool::new(false);
        let mut pages = std::collections::HashMap::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for year in 0..60 {
                    let car = json!({"name": "new", "year": year});
                    let put = server.send("PUT", "/documents/cars/items/0", &car);
                    put.with(204);
                }
                over.store(true, std::sync::atomic::Ordering::Relaxed);
            });
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                let (tag, page) = list(&server);
                let before = pages.entry(tag.clone()).or_insert_with(|| page.clone());
                assert_eq!(*before, page, "{policy}: two contents of {tag}");
            }
        });
        // In another server, with the same number of commits but other content.
        let (tag, page) = list(&filled(policy));
        for (earlier_tag, before) in &pages {
            assert_eq!(*earlier_tag == tag, *before == page, "{policy}");
        }
    }
}

#[test]
fn the_values_of_an_index_are_listed_and_documents_deleted_by_them() {
    let server = filled("indexed");
    let page = server
        .get("/documents/cars/indexes/color?limit=2")
        .with(200)
        .json();
    assert_eq!(
        page["values"],
        json!([
            {"value": ["blue"], "documents": 17},
            {"value": ["red"], "documents": 17},
        ])
    );
    let next = page["next"].as_str().expect("a cursor");
    let page = server
        .get(&format!(
            "/documents/cars/indexes/color?limit=2&cursor={next}"
        ))
        .with(200)
        .json();
    assert_eq!(
        page["values"],
        json!([{"value": ["é / &+%"], "documents": 16}])
    );
    assert!(page["next"].is_null());
    let deleted = server.request(
        "DELETE",
        "/documents/cars/items?index=color&value=red",
        &[],
        None,
    );
    assert_eq!(deleted.with(200).json(), json!({"deleted": 17}));
    assert_eq!(all_pages(&server, "limit=100").len(), 33);
}

#[test]
fn unknown_parameters_are_rejected_and_never_ignored() {
    let server = filled("uncached");
    for (query, named) in [
        ("value=red", "value requires index"),
        ("from=a&limit=5", "from requires index"),
        ("colour=red", "unknown parameter"),
        ("index=color&value=red&lmit=5", "unknown parameter"),
    ] {
        let refused = server
            .get(&format!("/documents/cars/items?{query}"))
            .with(400);
        assert!(refused.body.contains(named), "{query}: {}", refused.body);
    }
    server.get("/documents/cars?limit=5").with(400);
}
