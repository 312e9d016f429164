//! The copies of subscribers, compared with filtered reads, for random edits and filters.

use std::time::{Duration, Instant};

use espalier_service::access::Caller;
use espalier_service::{AccessControl, RequestFilter, SessionDatastore, XPathFilter};
use espalier_store::{CommitOptions, Edit};
use espalier_testkit::documents::json_document;
use espalier_testkit::seed;
use espalier_yang::InstancePath;
use espalier_yang::data::subtree_filter::{NamespaceBinding, SubtreeFilter};
use rand::Rng;
use rand::rngs::StdRng;
use serde_json::{Value as Json, json};

use crate::established::session_of;
use crate::fixture::{Fixture, user};
use crate::push_fixture::{Replica, on_change, push_fixture, selected};

const RUNS_VARIABLE: &str = "ESPALIER_PUSH_RUNS";

/// XPath filters: paths, conditions, and expressions that must be evaluated.
const EXPRESSIONS: [&str; 9] = [
    "/m:port[m:name='p1']",
    "/m:port[m:speed > 100]",
    "/m:port[m:speed > 100]/m:limit",
    "/m:port/m:tag",
    "/m:port[m:limit/m:rate = ../m:secret/m:life]",
    "/m:rule",
    "/m:secret | /m:top",
    "/m:port[m:name='p2']/m:limit/m:step[m:at='1']",
    "/m:*",
];

const SUBTREES: [&str; 6] = [
    r#"{"m:port":[null]}"#,
    r#"{"m:port":{"name":"p2"}}"#,
    r#"{"m:port":{"mark":"a","limit":null}}"#,
    r#"{"m:port":{"name":null,"limit":{"step":{"by":7}}},"m:top":null}"#,
    r#"{"m:rule":{"id":null}}"#,
    r#"{"m:secret":{"life":null},"m:port":{"tag":null}}"#,
];

/// Ben may not read some of the data; which, depends on a number.
fn rules(number: u32) -> String {
    let path = [
        "/m:port[m:name='p1']",
        "/m:secret",
        "/m:port/m:limit",
        "/m:port[m:mark='a']",
    ][number as usize % 4];
    json!({"ietf-netconf-acm:nacm": {
        "groups": {"group": [{"name": "some", "user-name": ["ben"]}]},
        "rule-list": [{"name": "some", "group": ["some"], "rule": [
            {"name": "1", "path": path, "access-operations": "read", "action": "deny"},
            {"name": "2", "module-name": "ietf-netconf-acm", "action": "deny"},
            {"name": "3", "action": "permit"}]}]}})
    .to_string()
}

/// A subscriber with its filter.
struct Subscriber {
    of: SessionDatastore,
    filter: RequestFilter,
    replica: Replica,
    input: Json,
}

impl Subscriber {
    fn random(fixture: &Fixture, random: &mut StdRng) -> Self {
        let caller = match random.random_bool(0.5) {
            true => Caller::exempt(),
            false => user("ben"),
        };
        let of = session_of(fixture, caller);
        let (given, filter) = filter(&of, random);
        let mut input = on_change(&given);
        let trigger = &mut input["ietf-yang-push:on-change"];
        if random.random_bool(0.3) {
            trigger["dampening-period"] = json!(random.random_range(1..50));
        }
        let mut replica = Replica::new(&of, &input);
        replica.drain();
        Self {
            of,
            filter,
            replica,
            input,
        }
    }

    /// Receives until the copy is what the filter selects.
    fn check(&mut self, fixture: &Fixture) {
        let mut last = (Json::Null, Json::Null);
        let end = Instant::now() + Duration::from_secs(20);
        while Instant::now() < end {
            // Dampening periods pass.
            fixture.clock.advance_ms(1000);
            self.replica.drain();
            last = (self.replica.document(), selected(&self.of, &self.filter));
            if last.0 == last.1 {
                return;
            }
        }
        panic!("{}\nhas {}\nnot {}", self.input, last.0, last.1);
    }
}

fn filter(of: &SessionDatastore, random: &mut StdRng) -> (Json, RequestFilter) {
    match random.random_range(0..5) {
        0 => (json!({}), RequestFilter::All),
        1..4 => {
            let text = EXPRESSIONS[random.random_range(0..EXPRESSIONS.len())];
            let namespaces = vec![NamespaceBinding {
                prefix: Some("m".into()),
                namespace: "urn:m".into(),
            }];
            let filter = XPathFilter {
                text: text.to_owned(),
                namespaces,
            };
            let given = json!({"datastore-xpath-filter": text});
            (given, RequestFilter::XPath(filter))
        }
        _ => {
            let text = SUBTREES[random.random_range(0..SUBTREES.len())];
            let content: Json = serde_json::from_str(text).expect("JSON");
            let filter = SubtreeFilter::parse_json(&[of.schema()], text).expect("a filter");
            let given = json!({"datastore-subtree-filter": content});
            (given, RequestFilter::Subtree(filter))
        }
    }
}

/// A random edit; it may be impossible.
pub fn edit(fixture: &Fixture, random: &mut StdRng) -> Edit {
    let schema = fixture.tree.schema();
    let port = format!("p{}", random.random_range(0..4));
    let number: u8 = random.random();
    let small = random.random_range(0..4);
    let merge = |document: Json| {
        let tree = json_document(schema, &document.to_string());
        Edit::merge(InstancePath::root(), tree)
    };
    let path = |text: String| InstancePath::parse_cli_path(schema, &text).expect("a path");
    match random.random_range(0..14) {
        0..3 => merge(json!({"m:port": [{"name": port, "speed": number}]})),
        3 => merge(json!({"m:port": [{"name": port, "tag": [format!("t{small}")]}]})),
        4 => merge(json!({"m:port": [{"name": port, "mark": [(["a", "b"][small % 2])]}]})),
        5 => merge(json!({"m:port": [{"name": port, "limit": {"rate": small}}]})),
        6 => merge(json!({"m:port": [{"name": port,
            "limit": {"step": [{"at": small, "by": 6 + small % 2}]}}]})),
        7 => Edit::remove(path(format!("/m:port[name='{port}']"))),
        8 => Edit::remove(path(format!("/m:port[name='{port}']/mark[.='a']"))),
        9 => Edit::remove(path(format!("/m:port[name='{port}']/limit"))),
        10 => {
            let place = match random.random_range(0..3) {
                0 => espalier_store::Insert::First,
                _ => espalier_store::Insert::Last,
            };
            merge(json!({"m:rule": [{"id": small, "text": number.to_string()}]})).placed(place)
        }
        11 => Edit::remove(path(format!("/m:rule[id='{small}']"))),
        12 => merge(json!({"m:secret": {"key": number.to_string(), "life": small}})),
        _ => match random.random() {
            true => merge(json!({"m:top": number.to_string()})),
            false => Edit::remove(path("/m:top".to_owned())),
        },
    }
}

#[test]
fn a_copy_of_a_subscriber_is_what_its_filter_selects() {
    let count = seed::number_from_environment(RUNS_VARIABLE).unwrap_or(12);
    let mut updates = 0;
    seed::run_each("push", count, RUNS_VARIABLE, |random| {
        let fixture = push_fixture(AccessControl::Rules);
        fixture.put(&rules(random.random()));
        let mut subscribers: Vec<Subscriber> = (0..6)
            .map(|_| Subscriber::random(&fixture, random))
            .collect();
        for _ in 0..30 {
            if random.random_bool(0.05) {
                fixture.put(&rules(random.random()));
            }
            let edits: Vec<Edit> = (0..random.random_range(1..4))
                .map(|_| edit(&fixture, random))
                .collect();
            // Some edits are impossible.
            let _ = fixture.tree.commit(&edits, CommitOptions::default());
            let one = random.random_range(0..subscribers.len());
            if random.random_bool(0.3) {
                subscribers[one].check(&fixture);
            }
        }
        for subscriber in &mut subscribers {
            subscriber.check(&fixture);
            let names = &subscriber.replica.received;
            assert_eq!(names[0], "push-update");
            assert!(
                names[1..].iter().all(|name| name == "push-change-update"),
                "{names:?}"
            );
            updates += names.len();
        }
    });
    assert!(updates > 100, "{updates}");
}
