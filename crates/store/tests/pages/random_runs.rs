//! Random pages of random lists, with edits between them, compared with the naive model.

use std::fmt::Write as _;
use std::sync::Arc;

use espalier_store::{
    AccessDefaults, AccessOperation, AccessRules, AccessTable, CommitOptions, DataRule, Edit,
    Error, InstancePattern, OperationSet, PatternStep, Remaining, RuleEffect, View,
};
use espalier_testkit::seed;
use espalier_yang::{InstancePath, Keys, Value};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::fixture::{Fixture, Page, app_tag, filtered_page, merge, page};
use crate::naive::{Anchor, Entry, List, Order, Sort};

/// What an expression means for a number.
type OfNumber = fn(i32) -> bool;

/// The number of lists in a run, each with several queries.
const RUNS: u64 = 60;

/// Sets the number of lists.
const RUNS_VARIABLE: &str = "ESPALIER_PAGE_RUNS";

fn runs() -> u64 {
    seed::number_from_environment(RUNS_VARIABLE).unwrap_or(RUNS)
}

/// A condition: its text, and what it is in the model.
type Condition = (&'static str, fn(&Entry) -> bool);

const CONDITIONS: [Condition; 14] = [
    ("unfiltered", |_| true),
    ("rank > 2", |entry| entry.rank > Some(2)),
    ("m:label = 'b'", |entry| entry.label.as_deref() == Some("b")),
    ("in/size = 3 or not(rank)", |entry| {
        entry.size == Some(3) || entry.rank.is_none()
    }),
    ("id = 7", |entry| entry.id == 7),
    ("id = '7' and rank", |entry| {
        entry.id == 7 && entry.rank.is_some()
    }),
    ("site = 's1'", |entry| entry.site == "s1"),
    ("site = 's1' and id = 7", |entry| {
        entry.site == "s1" && entry.id == 7
    }),
    ("'s1' = site and label != 'a'", |entry| {
        entry.site == "s1" && entry.label.as_deref().is_some_and(|label| label != "a")
    }),
    ("site = 's1' and site = 's2'", |_| false),
    ("count(../item) > 0", |_| true),
    ("not(unknown)", |_| false),
    ("other:id", |_| false),
    ("in/unknown = 1 or id = 7", |_| false),
];

struct Run<'r> {
    fixture: Fixture,
    random: &'r mut StdRng,
    list: List,
    /// Where the list is, in the syntax of the command line.
    parent: &'static str,
    hidden: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Reader {
    is_operational: bool,
    is_restricted: bool,
}

/// A query, whose pages have it in common.
struct Query {
    condition: Condition,
    sort: Sort,
    is_reversed: bool,
}

fn model(order: Order, is_nested: bool) -> String {
    let (keys, id) = match order {
        Order::Id => ("key id;", "uint32"),
        Order::Text => ("key id;", "string"),
        Order::SiteAndId => ("key \"site id\";", "uint32"),
        Order::User => ("key \"id site\"; ordered-by user;", "uint32"),
    };
    let item = format!(
        "list item {{ {keys} leaf site {{ type string; }} leaf id {{ type {id}; }}
           leaf rank {{ type int32; }} leaf label {{ type string; }} container in {{ leaf size {{ type uint8; }} }}
           list sub {{ key n; leaf n {{ type uint8; }} }} }}"
    );
    let item = match is_nested {
        true => format!("list group {{ key name; leaf name {{ type string; }} {item} }}"),
        false => item,
    };
    format!(
        "module m {{ yang-version 1.1; namespace urn:m; prefix p; container top {{ {item} }} }}"
    )
}

impl<'r> Run<'r> {
    fn new(random: &'r mut StdRng) -> Self {
        let orders = [Order::Id, Order::Text, Order::SiteAndId, Order::User];
        let order = *orders.choose(random).unwrap();
        let is_nested = random.random_bool(0.3);
        let fixture = Fixture::in_memory(&model(order, is_nested));
        let entries = Vec::new();
        let mut run = Self {
            fixture,
            random,
            list: List { order, entries },
            parent: if is_nested {
                "/m:top/group[name='g']"
            } else {
                "/m:top"
            },
            hidden: Vec::new(),
        };
        if is_nested {
            merge(
                &run.fixture.running,
                r#"{"m:top":{"group":[{"name":"g"}]}}"#,
            );
        }
        for _ in 0..run.random.random_range(0..30) {
            run.insert();
        }
        run.hidden = (0..20).filter(|_| run.random.random_bool(0.2)).collect();
        run
    }

    fn path(&self) -> InstancePath {
        self.fixture.path(&format!("{}/item", self.parent))
    }

    fn entry(&mut self) -> Entry {
        let random = &mut *self.random;
        let mut optional = |share: f64, most: u32| {
            random
                .random_bool(share)
                .then(|| random.random_range(0..most))
        };
        let (rank, label, size) = (optional(0.7, 6), optional(0.6, 3), optional(0.5, 5));
        Entry {
            site: format!("s{}", random.random_range(0..3)),
            id: random.random_range(0..20),
            rank: rank.map(|rank| rank as i32 - 1),
            label: label.map(|label| ["a", "b", "ä"][label as usize].to_owned()),
            size: size.map(|size| size as u8),
            is_gone: false,
        }
    }

    fn insert(&mut self) {
        let entry = self.entry();
        let has_site = matches!(self.list.order, Order::SiteAndId | Order::User);
        let is_same =
            |one: &&mut Entry| one.id == entry.id && (!has_site || one.site == entry.site);
        let mut there = self.list.entries.iter_mut();
        match there.find(is_same) {
            Some(old) if old.is_gone => return,
            Some(old) => {
                let added = entry.clone();
                // A merge keeps what it does not name.
                old.rank = added.rank.or(old.rank);
                old.label = added.label.or(old.label.take());
                old.size = added.size.or(old.size);
                old.site = added.site;
            }
            None => self.list.entries.push(entry.clone()),
        }
        merge(&self.fixture.running, &self.document(&entry));
    }

    fn document(&self, entry: &Entry) -> String {
        let id = match self.list.order {
            Order::Text => format!("\"{}\"", entry.id),
            _ => entry.id.to_string(),
        };
        let mut text = format!(
            r#"{{"site":"{}","id":{id},"sub":[{{"n":1}},{{"n":2}}]"#,
            entry.site
        );
        if let Some(rank) = entry.rank {
            write!(text, r#","rank":{rank}"#).unwrap();
        }
        if let Some(label) = &entry.label {
            write!(text, r#","label":"{label}""#).unwrap();
        }
        if let Some(size) = entry.size {
            write!(text, r#","in":{{"size":{size}}}"#).unwrap();
        }
        text.push('}');
        match self.parent.contains("group") {
            true => format!(r#"{{"m:top":{{"group":[{{"name":"g","item":[{text}]}}]}}}}"#),
            false => format!(r#"{{"m:top":{{"item":[{text}]}}}}"#),
        }
    }

    fn delete(&mut self) {
        let there: Vec<usize> = (0..self.list.entries.len())
            .filter(|&index| !self.list.entries[index].is_gone)
            .collect();
        let Some(&index) = there.choose(self.random) else {
            return;
        };
        self.list.entries[index].is_gone = true;
        let entry = self.list.entries[index].clone();
        let keys = match self.list.order {
            Order::Id | Order::Text => format!("[id='{}']", entry.id),
            _ => format!("[site='{}'][id='{}']", entry.site, entry.id),
        };
        let path = self.fixture.path(&format!("{}/item{keys}", self.parent));
        let deleted = self
            .fixture
            .running
            .commit(&[Edit::delete(path)], CommitOptions::default());
        deleted.expect("a deletion");
    }

    /// Edits between two pages. No entry is inserted where the place of a deleted one is not certain.
    fn edit(&mut self) {
        for _ in 0..self.random.random_range(0..4) {
            let has_gone = self.list.entries.iter().any(|entry| entry.is_gone);
            match self.random.random_bool(0.5) || (self.list.order == Order::User && has_gone) {
                true => self.delete(),
                false => self.insert(),
            }
        }
    }

    /// A reader of running, or of operational, which has the same; with rules that hide entries, or without.
    fn reader(&mut self) -> Reader {
        Reader {
            is_operational: self.random.random_bool(0.5),
            is_restricted: self.random.random_bool(0.5),
        }
    }

    fn view(&self, reader: Reader) -> View {
        let tree = match reader.is_operational {
            true => &self.fixture.operational,
            false => &self.fixture.running,
        };
        let view = tree.view().expect("a view");
        match reader.is_restricted {
            true => view.with_access(Some(self.rules())),
            false => view,
        }
    }

    fn rules(&self) -> Arc<AccessTable> {
        let schema = self.fixture.schema();
        let path = self.path();
        let node = schema.node(path.target().expect("a list"));
        let is_id = |&key: &espalier_yang::NodeId| *schema.node(key).name == *"id";
        let of_entry = |id: &u32| {
            let value = match self.list.order {
                Order::Text => Value::String(id.to_string().into()),
                _ => Value::Uint32(*id),
            };
            let keys = node
                .keys()
                .iter()
                .map(|key| is_id(key).then(|| value.clone()));
            let mut steps: Vec<PatternStep> = path.steps[..path.steps.len() - 1]
                .iter()
                .map(|step| PatternStep {
                    node: step.node,
                    keys: Vec::new(),
                })
                .collect();
            steps.push(PatternStep {
                node: node.id,
                keys: keys.collect(),
            });
            DataRule {
                module: None,
                path: Some(InstancePattern { steps }),
                operations: OperationSet::default().with(AccessOperation::Read),
                effect: RuleEffect::Deny,
            }
        };
        let rules: Vec<DataRule> = self.hidden.iter().map(of_entry).collect();
        Arc::new(AccessTable::compile(
            schema,
            &AccessRules {
                rules: &rules,
                defaults: AccessDefaults {
                    read: RuleEffect::Permit,
                    write: RuleEffect::Permit,
                    exec: RuleEffect::Permit,
                },
                marks: &|_| None,
            },
        ))
    }

    /// What the model has for a query.
    fn expected(&self, query: &Query, is_hidden: bool) -> Vec<Entry> {
        let filter = |entry: &Entry| {
            (query.condition.1)(entry) && !(is_hidden && self.hidden.contains(&entry.id))
        };
        self.list.query(&filter, query.sort, query.is_reversed)
    }

    fn query(&mut self) -> Query {
        let sorts = [
            Sort::None,
            Sort::None,
            Sort::Site,
            Sort::Id,
            Sort::Rank,
            Sort::Label,
            Sort::Size,
        ];
        Query {
            condition: *CONDITIONS.choose(self.random).unwrap(),
            sort: *sorts.choose(self.random).unwrap(),
            is_reversed: self.random.random_bool(0.5),
        }
    }

    fn read(&mut self, view: &View, query: &Query, start: &[(&str, &str)]) -> Result<Page, Error> {
        let mut pairs = vec![("where", query.condition.0)];
        let sort = match query.sort {
            Sort::None => "none",
            Sort::Site => "site",
            Sort::Id => "m:id",
            Sort::Rank => "rank",
            Sort::Label => "label",
            Sort::Size => "in/m:size",
        };
        pairs.push(("sort-by", sort));
        if query.is_reversed {
            pairs.push(("direction", "backwards"));
        }
        pairs.extend_from_slice(start);
        let path = self.path();
        let name = "m:item";
        let found = page(view, (&path, name), &pairs);
        let filtered = filtered_page(view, (&path, "item"), &pairs);
        match (&found, &filtered) {
            (Ok(found), Ok(filtered)) => assert_eq!(found, filtered, "{pairs:?}"),
            (Err(error), Err(other)) => assert_eq!(app_tag(error), app_tag(other)),
            other => panic!("{pairs:?}: {other:?}"),
        }
        found
    }

    /// Reads all pages of a query, with edits between them.
    fn follow(&mut self) {
        let query = self.query();
        let limit = self.random.random_range(1..6usize);
        let offset = match self.random.random_bool(0.5) {
            true => 0,
            false => self.random.random_range(0..8usize),
        };
        let reader = self.reader();
        let (view, is_hidden) = (self.view(reader), reader.is_restricted);
        let expected = self.expected(&query, is_hidden);
        let (limit_text, offset_text) = (limit.to_string(), offset.to_string());
        let start = [("offset", &*offset_text), ("limit", &*limit_text)];
        let found = self.read(&view, &query, &start);
        if offset > expected.len() {
            let error = found.expect_err("an offset beyond the last entry");
            assert_eq!(app_tag(&error), "ietf-list-pagination:offset-out-of-range");
            return;
        }
        let mut page = found.expect("a page");
        self.check(&page, &expected, offset, limit);
        let mut shown = expected
            .into_iter()
            .skip(offset)
            .take(limit)
            .collect::<Vec<_>>();
        while let (Some(next), Some(last)) = (page.info.next.clone(), shown.last()) {
            let anchor = self.list.anchor(last, query.sort);
            self.edit();
            let view = self.view(reader);
            let start = [("cursor", &*next), ("limit", &*limit_text)];
            page = self.read(&view, &query, &start).expect("a page");
            shown = self.check_at(&page, (&query, is_hidden), &anchor, limit);
            self.go_back(&view, (&query, is_hidden), &page, limit);
            self.list.entries.retain(|entry| !entry.is_gone);
        }
    }

    /// Checks a page after a place, and returns its entries.
    fn check_at(
        &self,
        page: &Page,
        (query, is_hidden): (&Query, bool),
        anchor: &Anchor,
        limit: usize,
    ) -> Vec<Entry> {
        let expected = self.expected(query, is_hidden);
        let is_same = |entry: &Entry| {
            let is_entry = self.list.index_of(entry) == self.list.index_of(&anchor.entry);
            is_entry && query.sort.value(entry, self.list.order) == anchor.value
        };
        let mut offset = self
            .list
            .before(&expected, anchor, query.sort, query.is_reversed);
        offset += usize::from(expected.get(offset).is_some_and(is_same));
        self.check(page, &expected, offset, limit);
        expected.into_iter().skip(offset).take(limit).collect()
    }

    /// Checks the page before another.
    fn go_back(
        &mut self,
        view: &View,
        (query, is_hidden): (&Query, bool),
        page: &Page,
        limit: usize,
    ) {
        let expected = self.expected(query, is_hidden);
        let Some(previous) = &page.info.previous else {
            return;
        };
        let first = expected
            .iter()
            .position(|entry| self.is_entry(&page.entries[0], entry));
        let first = first.expect("the first entry of the page");
        let limit_text = limit.to_string();
        let start = [("cursor", &**previous), ("limit", &*limit_text)];
        let found = self.read(view, query, &start).expect("a page");
        let offset = first.saturating_sub(limit);
        self.check(&found, &expected, offset, first - offset);
    }

    fn is_entry(&self, found: &serde_json::Value, entry: &Entry) -> bool {
        let id = match self.list.order {
            Order::Text => entry.id.to_string().into(),
            _ => serde_json::Value::from(entry.id),
        };
        found["id"] == id && found["site"] == entry.site.as_str()
    }

    /// Checks a page against all entries of its query.
    fn check(&self, page: &Page, all: &[Entry], offset: usize, limit: usize) {
        let expected = &all[offset.min(all.len())..(offset + limit).min(all.len())];
        let what = format!("{page:?}\nof {all:#?}\nfrom {offset}");
        assert_eq!(page.entries.len(), expected.len(), "{what}");
        for (found, entry) in page.entries.iter().zip(expected) {
            assert!(self.is_entry(found, entry), "{what}");
            assert_eq!(
                found.get("rank").and_then(serde_json::Value::as_i64),
                entry.rank.map(i64::from)
            );
            assert_eq!(found["sub"].as_array().map(Vec::len), Some(2), "{what}");
        }
        if expected.is_empty() {
            return;
        }
        let left = all.len() - offset - expected.len();
        let is_remaining = match page.info.remaining {
            None => left == 0,
            Some(Remaining::Known(count)) => count == left as u64 && left > 0,
            Some(Remaining::Unknown) => left > 0,
        };
        assert!(is_remaining, "{what}");
        assert_eq!(page.info.next.is_some(), left > 0, "{what}");
        assert_eq!(page.info.previous.is_some(), offset > 0, "{what}");
    }
}

#[test]
fn random_pages_are_those_of_the_model() {
    seed::run_each("random_pages", runs(), RUNS_VARIABLE, |random| {
        let mut run = Run::new(random);
        for _ in 0..12 {
            run.follow();
            run.list.entries.retain(|entry| !entry.is_gone);
            run.edit();
            run.list.entries.retain(|entry| !entry.is_gone);
        }
    });
}

/// All entries, without a limit: they are streamed.
#[test]
fn pages_without_a_limit_have_all_entries() {
    seed::run_each("unlimited", runs(), RUNS_VARIABLE, |random| {
        let mut run = Run::new(random);
        for _ in 0..12 {
            let query = run.query();
            let reader = run.reader();
            let view = run.view(reader);
            let expected = run.expected(&query, reader.is_restricted);
            let offset = run.random.random_range(0..=expected.len());
            let offset_text = offset.to_string();
            let found = run
                .read(&view, &query, &[("offset", &offset_text)])
                .expect("a page");
            assert_eq!(found.entries.len(), expected.len() - offset);
            for (found, entry) in found.entries.iter().zip(&expected[offset..]) {
                assert!(run.is_entry(found, entry));
            }
            assert_eq!((&found.info.next, &found.info.previous), (&None, &None));
        }
    });
}

/// A leaf-list has offsets, no cursors.
#[test]
fn random_pages_of_leaf_lists_are_those_of_the_model() {
    seed::run_each("leaf_lists", runs(), RUNS_VARIABLE, |random| {
        let is_user = random.random_bool(0.5);
        let order = if is_user { "ordered-by user;" } else { "" };
        let fixture = Fixture::in_memory(&format!(
            "module m {{ yang-version 1.1; namespace urn:m; prefix m; leaf-list n {{ type int32; {order} }} }}"
        ));
        let mut values: Vec<i32> = Vec::new();
        for _ in 0..20 {
            let value = random.random_range(-50..50);
            if !values.contains(&value) {
                values.push(value);
                merge(&fixture.running, &format!(r#"{{"m:n":[{value}]}}"#));
            }
        }
        let path = InstancePath::root().child(fixture.path("/m:n").target().unwrap(), Keys::None);
        let conditions: [(&str, OfNumber); 3] = [
            ("unfiltered", |_| true),
            (". > 0", |value| value > 0),
            (". = 7", |value| value == 7),
        ];
        for _ in 0..10 {
            let (text, filter) = *conditions.choose(random).unwrap();
            let (offset, limit) = (
                random.random_range(0..15usize),
                random.random_range(1..6usize),
            );
            let is_sorted = random.random_bool(0.5);
            let direction = *["forwards", "backwards"].choose(random).unwrap();
            let mut expected = values.clone();
            expected.retain(|value| filter(*value));
            if is_sorted || !is_user {
                expected.sort();
            }
            if direction == "backwards" {
                expected.reverse();
            }
            let (offset_text, limit_text) = (offset.to_string(), limit.to_string());
            let pairs = [
                ("where", text),
                ("direction", direction),
                ("sort-by", if is_sorted { "n" } else { "none" }),
                ("offset", &*offset_text),
                ("limit", &*limit_text),
            ];
            let view = fixture.operational.view().unwrap();
            let found = page(&view, (&path, "m:n"), &pairs);
            if offset > expected.len() {
                assert!(app_tag(&found.unwrap_err()).ends_with("offset-out-of-range"));
                continue;
            }
            let found = found.unwrap();
            let rest = &expected[offset..];
            let cut = &rest[..limit.min(rest.len())];
            assert_eq!(found.entries, cut, "{pairs:?} of {values:?}");
            assert_eq!(
                found.info.remaining.is_some(),
                rest.len() > cut.len() && !cut.is_empty()
            );
            assert_eq!(found.info.next, None);
        }
    });
}
