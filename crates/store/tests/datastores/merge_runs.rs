//! Random concurrent edits of running and of a candidate, merged, and compared with a naive three-way merge
//! of paths and values.

use std::collections::BTreeMap;

use espalier_store::{CommitOptions, Datastore, Edit, Error, LoadMode, Resolution, Tree};
use espalier_testkit::seed;
use espalier_yang::data::{Content, DataNode, DataTree};
use espalier_yang::{InstancePath, NodeId, Schema};
use rand::Rng;
use rand::rngs::StdRng;

use crate::candidate::forgetful;
use crate::edit::{Change, apply};
use crate::fixture::{
    MODEL, SORTED, assert_same, commit, load_tree, memory_tree, merge as merge_into, path,
    read_all, show,
};
use crate::generate::Generator;
use crate::reference::{entry_keys, is_rival};

const ORDERED: &str = include_str!("ordered.yang");

/// The default number of merges in a run.
const MERGES: u64 = 400;

/// One node, by its path.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FlatNode {
    node: NodeId,
    value: String,
    /// The path of the enclosing entry or presence container.
    container: String,
    /// The path of the parent node.
    parent: String,
}

type Paths = BTreeMap<String, FlatNode>;

fn flatten(schema: &Schema, nodes: &[DataNode], parent: &str, container: &str, into: &mut Paths) {
    for data in nodes {
        let node = schema.node(data.node);
        let keys: Vec<String> = match node.is_list() || node.is_leaf_list() {
            true => entry_keys(schema, data)
                .iter()
                .map(|key| format!("{key:?}"))
                .collect(),
            false => Vec::new(),
        };
        let path = format!("{parent}/{}[{}]", node.name, keys.join(","));
        let value = match &data.content {
            Content::Value(value) => format!("{value:?}"),
            Content::Any(json) => json.to_string(),
            Content::Bare | Content::Inner(_) => String::new(),
        };
        if !node.is_np_container() {
            let flat = FlatNode {
                node: data.node,
                value,
                container: container.to_owned(),
                parent: parent.to_owned(),
            };
            into.insert(path.clone(), flat);
        }
        let inner = if node.is_np_container() {
            container
        } else {
            &path
        };
        flatten(schema, data.children(), &path, inner, into);
    }
}

fn paths(schema: &Schema, tree: &DataTree) -> Paths {
    let mut into = Paths::new();
    flatten(schema, &tree.nodes, "", "", &mut into);
    into
}

/// The merged paths, and whether there is a conflict.
fn merge(schema: &Schema, base: &Paths, running: &Paths, candidate: &Paths) -> (Paths, bool) {
    let mut merged = Paths::new();
    let mut is_conflict = false;
    let all: Vec<&String> = base
        .keys()
        .chain(running.keys())
        .chain(candidate.keys())
        .collect();
    for path in all {
        let (was, is, mine) = (base.get(path), running.get(path), candidate.get(path));
        let result = match () {
            () if was == is => mine,
            () if was == mine || is == mine => is,
            () => {
                is_conflict = true;
                mine
            }
        };
        if let Some(flat) = result {
            merged.insert(path.clone(), flat.clone());
        }
    }
    is_conflict |= merged.values().any(|flat| {
        let is_held = flat.container.is_empty() || merged.contains_key(&flat.container);
        let has_rival = merged
            .values()
            .any(|other| other.parent == flat.parent && is_rival(schema, flat.node, other.node));
        !is_held || has_rival
    });
    (merged, is_conflict)
}

struct Round<'a> {
    random: &'a mut StdRng,
    running: Tree,
    candidate: Tree,
}

impl Round<'_> {
    fn edit(&mut self, tree: &Tree) {
        for _ in 0..self.random.random_range(1..4) {
            let mut state = read_all(tree);
            let mut generator = Generator {
                schema: tree.schema(),
                random: self.random,
            };
            let change = generator.change(&state);
            let is_whole = match &change {
                Change::ReplaceAll(_) => true,
                Change::Delete(path) | Change::Remove(path) => path.is_root(),
                _ => false,
            };
            let is_good = apply(tree.schema(), &mut state, std::slice::from_ref(&change)).is_ok();
            if !is_whole && is_good {
                // On conflicts, edits are based on the candidate as it was created.
                let result = commit(tree, &[change.to_edit()]);
                assert!(result.is_ok() || !tree.conflicts().unwrap().is_empty());
            }
        }
    }

    /// Prunes the log of running to after the base of the candidate; running keeps its content.
    fn forget(&mut self) {
        let data = read_all(&self.running);
        if self.random.random_ratio(1, 4) {
            load_tree(&self.running, LoadMode::Replace, &data).unwrap();
        }
        merge_into(&self.running, r#"{"m:top":"for a moment"}"#);
        let top = path(self.running.schema(), "/m:top");
        let is_top = |node: &&DataNode| node.node == top.steps[0].node;
        let before = DataTree {
            nodes: data.nodes.iter().filter(is_top).cloned().collect(),
        };
        let edits = [Edit::delete(top), Edit::merge(InstancePath::root(), before)];
        commit(&self.running, &edits).unwrap();
        assert_same(
            self.running.schema(),
            &read_all(&self.running),
            &data,
            "running",
        );
    }

    /// Resets everything to before the round: running is reloaded, and the candidate is empty.
    fn begin(&mut self) -> DataTree {
        self.candidate.discard(CommitOptions::default()).unwrap();
        let mut generator = Generator {
            schema: self.running.schema(),
            random: self.random,
        };
        let document = generator.document();
        load_tree(&self.running, LoadMode::Replace, &document).unwrap();
        read_all(&self.running)
    }
}

/// The entries of each list ordered by user, by the paths of the lists.
fn sequences(schema: &Schema, nodes: &[DataNode], parent: &str, into: &mut Sequences) {
    for data in nodes {
        let node = schema.node(data.node);
        let keys: Vec<String> = match node.is_list() || node.is_leaf_list() {
            true => entry_keys(schema, data)
                .iter()
                .map(|key| format!("{key:?}"))
                .collect(),
            false => Vec::new(),
        };
        let list = format!("{parent}/{}", node.name);
        let path = format!("{list}[{}]", keys.join(","));
        if node.is_positional() {
            into.entry(list).or_default().push(path.clone());
        }
        sequences(schema, data.children(), &path, into);
    }
}

type Sequences = BTreeMap<String, Vec<String>>;

/// The entries of a list that also exist in another state, in the order of the first.
fn common<'s>(of: &'s [String], other: &[String]) -> Vec<&'s String> {
    of.iter().filter(|path| other.contains(path)).collect()
}

/// Describes what is wrong with the order of merged lists: if one side moved no entry of a list, the merged
/// list has the order of the other side.
fn wrong_order(schema: &Schema, states: [&DataTree; 4]) -> Option<String> {
    let [base, running, candidate, merged] = states.map(|tree| {
        let mut into = Sequences::new();
        sequences(schema, &tree.nodes, "", &mut into);
        into
    });
    let none = Vec::new();
    for (list, merged) in &merged {
        let of = |state: &'_ Sequences| state.get(list).unwrap_or(&none).clone();
        let (base, running, candidate) = (of(&base), of(&running), of(&candidate));
        let moves = |side: &[String]| common(&base, side) != common(side, &base);
        if !moves(&candidate) && common(merged, &running) != common(&running, merged) {
            return Some(format!("{list} is not as running has it: {merged:?}"));
        }
        // An entry that both created is where running has it.
        let mut candidate = candidate;
        candidate.retain(|path| base.contains(path) || !running.contains(path));
        if !moves(&running) && common(merged, &candidate) != common(&candidate, merged) {
            return Some(format!("{list} is not as the candidate has it: {merged:?}"));
        }
    }
    None
}

/// Whether the log of running reaches back to the base of the candidate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum History {
    Kept,
    Pruned,
}

#[test]
fn changes_are_merged_or_reported_as_conflicts() {
    seed::run("merges", |random| merges(random, SORTED, History::Kept));
}

#[test]
fn lists_ordered_by_user_are_merged_with_the_order_of_each_side() {
    seed::run("ordered merges", |random| {
        merges(random, ORDERED, History::Kept);
    });
}

#[test]
fn conflicts_are_reported_without_the_history_too() {
    seed::run("merges without history", |random| {
        merges(random, SORTED, History::Pruned);
    });
}

#[test]
fn conflicts_in_lists_ordered_by_user_are_reported_without_the_history_too() {
    seed::run("ordered merges without history", |random| {
        merges(random, ORDERED, History::Pruned);
    });
}

/// Running with the requested amount of history.
fn prepared(model: &str, history: History) -> Tree {
    match history {
        History::Kept => memory_tree(model),
        History::Pruned => forgetful(model),
    }
}

fn merges(random: &mut StdRng, model: &str, history: History) {
    let merges = seed::number_from_environment("ESPALIER_OPERATIONS").unwrap_or(MERGES);
    let running = prepared(model, history);
    let candidate = running.sibling_datastore(Datastore::Candidate, "").unwrap();
    let schema = running.schema().clone();
    let mut round = Round {
        random,
        running,
        candidate,
    };
    let (mut merged_count, mut false_conflicts) = (0, 0);
    for _ in 0..merges {
        let base = round.begin();
        let (running, candidate) = (round.running.clone(), round.candidate.clone());
        round.edit(&candidate);
        let mine = read_all(&candidate);
        round.edit(&running);
        if history == History::Pruned {
            round.forget();
        }
        let theirs = read_all(&running);
        let conflicts = candidate.conflicts().unwrap();
        let states = [&base, &theirs, &mine].map(|tree| paths(&schema, tree));
        let (expected, is_conflict) = merge(&schema, &states[0], &states[1], &states[2]);
        let describe = || {
            let texts = [&base, &theirs, &mine].map(|tree| show(&schema, tree));
            format!(
                "base {}\nrunning {}\ncandidate {}\nreported {conflicts:?}",
                texts[0], texts[1], texts[2]
            )
        };
        if conflicts.is_empty() {
            assert!(!is_conflict, "not reported\n{}", describe());
            let found = read_all(&candidate);
            assert_eq!(paths(&schema, &found), expected, "{}", describe());
            let wrong = wrong_order(&schema, [&base, &theirs, &mine, &found]);
            assert_eq!(wrong, None, "{}", describe());
            candidate
                .commit_candidate(CommitOptions::default())
                .unwrap();
            assert_eq!(show(&schema, &read_all(&running)), show(&schema, &found));
            merged_count += 1;
        } else {
            false_conflicts += u64::from(!is_conflict);
            resolve(&mut round, Some(&base));
        }
        let findings = running.store().check(&mut |_| {}).unwrap();
        assert_eq!(findings, [], "{}", describe());
    }
    assert!(
        merged_count > merges / 4,
        "{merged_count} of {merges} merged"
    );
    let false_conflicts_max = match history {
        History::Kept => merges / 5,
        History::Pruned => merges / 3,
    };
    assert!(
        false_conflicts < false_conflicts_max,
        "{false_conflicts} of {merges} reported without a conflict"
    );
}

/// Resolves conflicts one way or the other; edits in between do not change that there are conflicts. If
/// running is preferred, all that it changed since `base` has its state.
fn resolve(round: &mut Round<'_>, base: Option<&DataTree>) {
    let (running, candidate) = (round.running.clone(), round.candidate.clone());
    let schema = running.schema();
    let refused = candidate.commit_candidate(CommitOptions::default());
    assert!(matches!(refused, Err(Error::Data(_))), "{refused:?}");
    let is_edited = round.random.random_ratio(1, 3);
    if is_edited {
        round.edit(&candidate);
    }
    let theirs = read_all(&running);
    let resolution = match round.random.random() {
        true => Resolution::PreferRunning,
        false => Resolution::PreferCandidate,
    };
    let shown = read_all(&candidate);
    candidate
        .update(resolution, CommitOptions::default())
        .unwrap();
    assert!(candidate.conflicts().unwrap().is_empty());
    let settled = read_all(&candidate);
    match (resolution, base) {
        (Resolution::PreferRunning, Some(base)) if !is_edited => {
            let [was, is, found] = [base, &theirs, &settled].map(|tree| paths(schema, tree));
            let all = was.keys().chain(is.keys());
            for path in all.filter(|path| was.get(*path) != is.get(*path)) {
                assert_eq!(found.get(path), is.get(path), "{path}");
            }
        }
        (Resolution::PreferCandidate, _) => {
            assert_eq!(show(schema, &settled), show(schema, &shown));
        }
        _ => {}
    }
    assert_eq!(show(schema, &read_all(&running)), show(schema, &theirs));
    candidate
        .commit_candidate(CommitOptions::default())
        .unwrap();
    assert_eq!(show(schema, &read_all(&running)), show(schema, &settled));
}

#[test]
fn merges_of_lists_ordered_by_user_leave_a_sound_store() {
    seed::run("merges with order", |random| {
        sound_merges(random, History::Kept);
    });
}

#[test]
fn merges_without_history_leave_a_sound_store() {
    seed::run("merges with order, without history", |random| {
        sound_merges(random, History::Pruned);
    });
}

fn sound_merges(random: &mut StdRng, history: History) {
    let merges = seed::number_from_environment("ESPALIER_OPERATIONS").unwrap_or(MERGES);
    let running = prepared(MODEL, history);
    let candidate = running.sibling_datastore(Datastore::Candidate, "").unwrap();
    let mut round = Round {
        random,
        running,
        candidate,
    };
    for _ in 0..merges {
        let base = round.begin();
        let (running, candidate) = (round.running.clone(), round.candidate.clone());
        let schema = running.schema().clone();
        round.edit(&candidate);
        if history == History::Pruned {
            // The candidate is also edited based on the current running.
            round.edit(&running);
            round.forget();
            round.edit(&candidate);
        }
        let mine = read_all(&candidate);
        round.edit(&running);
        if history == History::Pruned {
            round.forget();
        }
        let theirs = read_all(&running);
        let conflicts = candidate.conflicts().unwrap();
        let describe = |what: &str| {
            let texts = [&base, &theirs, &mine].map(|tree| show(&schema, tree));
            format!(
                "{what}\nbase      {}\nrunning   {}\ncandidate {}\nreported {conflicts:?}",
                texts[0], texts[1], texts[2]
            )
        };
        let sound = |what: &str| {
            let findings = running.store().check(&mut |_| {}).unwrap();
            assert_eq!(findings, [], "{}", describe(what));
        };
        sound("before");
        if conflicts.is_empty() {
            let shown = show(running.schema(), &read_all(&candidate));
            candidate
                .commit_candidate(CommitOptions::default())
                .unwrap();
            assert_eq!(show(running.schema(), &read_all(&running)), shown);
        } else {
            resolve(&mut round, None);
        }
        sound("after");
    }
}
