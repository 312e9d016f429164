//! Random XPath expressions over the nodes of a schema.

use rand::Rng;
use rand::rngs::StdRng;

use super::features::Features;
use super::shape::{ItemId, Kind, LeafType, Shape, Style, literal, pick};

/// Generates expressions for one context node.
pub(super) struct ExpressionWriter<'a> {
    pub(super) random: &'a mut StdRng,
    pub(super) shape: &'a Shape,
    pub(super) features: &'a mut Features,
    /// The item with the expression.
    pub(super) at: ItemId,
    /// The context node: a data node; `None` for the root.
    pub(super) context: Option<ItemId>,
    /// The data nodes that may be read.
    pub(super) readable: Vec<ItemId>,
    /// The data nodes that were read.
    pub(super) reads: Vec<ItemId>,
    /// Whether wildcard steps, and others that libyang does not support in a `when`, are allowed.
    pub(super) may_use_wildcards: bool,
}

impl ExpressionWriter<'_> {
    fn chance(&mut self, percent: u32) -> bool {
        self.random.random_ratio(percent, 100)
    }

    /// An expression; `None` if there is nothing to read.
    pub(super) fn expression(&mut self) -> Option<String> {
        if self.readable.is_empty() {
            return None;
        }
        let first = self.atom();
        Some(match self.random.random_range(0..100) {
            0..55 => first,
            55..65 => {
                self.features.note("xpath and");
                format!("{first} and {}", self.atom())
            }
            65..88 => {
                self.features.note("xpath or");
                format!("{first} or {}", self.atom())
            }
            88..94 => {
                self.features.note("xpath not");
                format!("not({first}) or {}", self.atom())
            }
            _ => {
                self.features.note("xpath and");
                format!("({first} or {}) and {}", self.atom(), self.atom())
            }
        })
    }

    fn atom(&mut self) -> String {
        let lists = self.lists();
        if self.is_in_user_order() && self.chance(30) {
            return self.about_entries().unwrap_or_else(|| self.about_leaf());
        }
        match self.random.random_range(0..100) {
            0..12 if !lists.is_empty() => self.about_list(&lists),
            12..22 => self.about_entries().unwrap_or_else(|| self.about_leaf()),
            22..30 => self.about_references().unwrap_or_else(|| self.about_leaf()),
            30..38 if self.may_use_wildcards => self.about_place(),
            38..46 => self.about_two(),
            46..54 => self.about_existence(),
            _ => self.about_leaf(),
        }
    }

    fn lists(&self) -> Vec<ItemId> {
        let lists = self.readable.iter().copied();
        lists.filter(|&id| self.shape.is_list(id)).collect()
    }

    fn leaves(&self) -> Vec<ItemId> {
        let leaves = self.readable.iter().copied();
        leaves.filter(|&id| self.shape.of(id).is_some()).collect()
    }

    fn any(&mut self) -> ItemId {
        let id = pick(self.random, &self.readable);
        self.reads.push(id);
        id
    }

    /// A leaf whose type fits.
    fn leaf(&mut self, fits: fn(&LeafType) -> bool) -> Option<ItemId> {
        let mut leaves = self.leaves();
        leaves.retain(|&id| fits(self.shape.base(id)));
        if leaves.is_empty() {
            return None;
        }
        let id = pick(self.random, &leaves);
        self.reads.push(id);
        Some(id)
    }

    fn path(&mut self, to: ItemId) -> String {
        if self.may_use_wildcards && self.is_named_once(to) && self.chance(10) {
            self.features.note("xpath descendant");
            return format!("//{}", self.shape.name(to));
        }
        if let Some(path) = self.path_by_ancestor(to) {
            return path;
        }
        let may_be_absolute = self.context.is_none() || self.shape.sees_from_root(self.at, to);
        let style = match may_be_absolute && self.chance(20) {
            true => Style::Absolute,
            false => Style::Relative,
        };
        if style == Style::Absolute {
            self.features.note("xpath absolute");
        }
        let lists = match style {
            Style::Relative => self.shape.lists_between(self.context, to),
            Style::Absolute => self.shape.lists_between(None, to),
        };
        let mut predicates = Vec::new();
        for list in lists.into_iter().filter(|&list| list != to) {
            if self.chance(45) {
                predicates.push((list, self.predicate(list)));
            }
        }
        let path = self.shape.path(self.context, to, style, &mut |at| {
            let found = predicates.iter().find(|(list, _)| *list == at);
            found.map_or(String::new(), |(_, predicate)| predicate.clone())
        });
        match path.strip_prefix("../") {
            Some(rest) if self.chance(6) => {
                self.features.note("xpath current");
                format!("current()/../{rest}")
            }
            _ => path,
        }
    }

    /// A path that starts with a named ancestor.
    fn path_by_ancestor(&mut self, to: ItemId) -> Option<String> {
        let context = self.context?;
        let chain = self.shape.chain(context);
        let outer = chain.iter().rev().skip(1);
        let common = outer
            .copied()
            .find(|&at| at != to && self.shape.is_within(to, at))?;
        let is_seen = self.shape.sees_from_root(self.at, common);
        if !is_seen || !self.is_named_once(common) || !self.chance(7) {
            return None;
        }
        self.features.note("xpath ancestor");
        let down = self
            .shape
            .path(Some(common), to, Style::Relative, &mut |_| String::new());
        Some(format!("ancestor::{}/{down}", self.shape.name(common)))
    }

    fn is_named_once(&self, id: ItemId) -> bool {
        let name = &self.shape.items[id].name;
        self.shape
            .items
            .iter()
            .filter(|item| item.name == *name)
            .count()
            == 1
    }

    /// A predicate for entries of a list.
    fn predicate(&mut self, list: ItemId) -> String {
        self.features.note("xpath predicate");
        let by_user = matches!(
            self.shape.items[list].kind,
            Kind::List { by_user: true, .. }
        );
        // libyang counts the entries of several lists together.
        let is_one = self.shape.lists_between(None, list).len() <= 1;
        if by_user && is_one && self.chance(25) {
            return match self.random.random_range(0..4) {
                0 => {
                    self.features.note("xpath last");
                    "[last()]".to_owned()
                }
                1 => {
                    self.features.note("xpath last");
                    "[position() < last()]".to_owned()
                }
                2 => {
                    self.features.note("xpath position");
                    format!("[position() <= {}]", self.random.random_range(1..3))
                }
                _ => {
                    self.features.note("xpath position");
                    format!("[{}]", self.random.random_range(1..3))
                }
            };
        }
        let mut leaves = self.shape.data_children(Some(list));
        leaves.retain(|id| self.readable.contains(id) && self.shape.of(*id).is_some());
        if leaves.is_empty() {
            return String::new();
        }
        let leaf = pick(self.random, &leaves);
        self.reads.push(leaf);
        let name = self.shape.name(leaf);
        if self.chance(35)
            && let Some(value) = self.sibling_value(leaf)
        {
            return format!("[{name} = {value}]");
        }
        let of = self.shape.base(leaf).clone();
        let value = literal(self.random, &of);
        match self.random.random_range(0..8) {
            0 => format!("[{name} != '{value}']"),
            1 => format!("[{name}]"),
            2 => format!("[not({name})]"),
            _ => format!("[{name} = '{value}']"),
        }
    }

    /// `current()/..` and a leaf with the same values, or the context itself.
    fn sibling_value(&mut self, of: ItemId) -> Option<String> {
        let context = self.context?;
        let kind = std::mem::discriminant(self.shape.base(of));
        let around = [Some(context), self.shape.data_parent(context)];
        let mut found = Vec::new();
        for (up, place) in around.into_iter().enumerate() {
            let Some(place) = place else { continue };
            for id in self.shape.data_children(Some(place)) {
                let is_fit = std::mem::discriminant(self.shape.base(id)) == kind;
                // libyang treats one entry of the context's own leaf-list as all of them if it is the value
                // of a key.
                let is_several =
                    id == context && matches!(self.shape.items[id].kind, Kind::LeafList { .. });
                let is_fit = is_fit && !is_several && id != of;
                if is_fit && self.readable.contains(&id) && self.shape.of(id).is_some() {
                    let steps = if up == 0 { "" } else { "../" };
                    found.push((id, format!("current()/{steps}{}", self.shape.name(id))));
                }
            }
        }
        if found.is_empty() {
            return None;
        }
        let (id, path) = pick(self.random, &found);
        self.reads.push(id);
        self.features.note("xpath current");
        self.features.note("xpath join by key");
        Some(path)
    }

    fn about_list(&mut self, lists: &[ItemId]) -> String {
        let list = pick(self.random, lists);
        self.reads.push(list);
        let path = self.path(list);
        let predicate = if self.chance(50) {
            self.predicate(list)
        } else {
            String::new()
        };
        let path = match path.ends_with('.') {
            true => path,
            false => format!("{path}{predicate}"),
        };
        self.features.note("xpath count");
        match self.random.random_range(0..6) {
            0 => format!("count({path}) != {}", self.random.random_range(0..4)),
            1 => format!("count({path}) >= {}", self.random.random_range(0..3)),
            2 => {
                self.features.note("xpath not");
                format!("not({path})")
            }
            _ => format!("count({path}) <= {}", self.random.random_range(0..5)),
        }
    }

    /// Whether the context is an entry ordered by user.
    fn is_in_user_order(&self) -> bool {
        let kind = self.context.map(|context| &self.shape.items[context].kind);
        self.may_use_wildcards && matches!(kind, Some(Kind::List { by_user: true, .. }))
    }

    /// A condition on other entries of the list of the context.
    fn about_entries(&mut self) -> Option<String> {
        let context = self.context?;
        let list = self
            .shape
            .chain(context)
            .into_iter()
            .rev()
            .find(|&at| self.shape.is_list(at))?;
        let Kind::List { keys, by_user, .. } = self.shape.items[list].kind.clone() else {
            return None;
        };
        let mut leaves = self.shape.data_children(Some(list));
        leaves.retain(|id| self.readable.contains(id) && self.shape.of(*id).is_some());
        if leaves.is_empty() || !self.readable.contains(&list) {
            return None;
        }
        let leaf = pick(self.random, &leaves);
        self.reads.extend([list, leaf]);
        let entry = self
            .shape
            .path(Some(context), list, Style::Relative, &mut |_| String::new());
        let (leaf, name) = (self.shape.name(leaf), self.shape.name(list));
        let is_here = context == list;
        if is_here && by_user && self.may_use_wildcards && self.chance(60) {
            return Some(self.about_order(&name, &leaf));
        }
        let up = if is_here {
            String::new()
        } else {
            format!("{entry}/")
        };
        let mine = |name: &str| format!("current()/{up}{name}");
        let key = self.shape.name(pick(self.random, &keys));
        self.features.note("xpath rival entries");
        self.features.note("xpath not");
        let others = if is_here {
            "..".to_owned()
        } else {
            format!("{entry}/..")
        };
        let mut alike = format!("{leaf} = {}", mine(&leaf));
        if self.chance(40) {
            self.features.note("xpath two joins");
            let second = pick(self.random, &leaves);
            self.reads.push(second);
            let second = self.shape.name(second);
            alike = format!("{alike} and {second} = {}", mine(&second));
        }
        Some(format!(
            "not({others}/{name}[{key} != {} and {alike}])",
            mine(&key)
        ))
    }

    fn about_order(&mut self, list: &str, leaf: &str) -> String {
        match self.random.random_range(0..4) {
            0 => {
                self.features.note("xpath preceding-sibling");
                format!(
                    "count(preceding-sibling::{list}) < {}",
                    self.random.random_range(1..4)
                )
            }
            1 => {
                self.features.note("xpath following-sibling");
                format!("not(following-sibling::{list}/{leaf} = {leaf})")
            }
            2 => {
                self.features.note("xpath preceding-sibling");
                format!("not(preceding-sibling::{list}[1]/{leaf} = {leaf})")
            }
            _ => {
                self.features.note("xpath following-sibling");
                format!("following-sibling::{list}[last()]/{leaf} or not({leaf} = '0')")
            }
        }
    }

    fn about_references(&mut self) -> Option<String> {
        let mut leaves = self.leaves();
        leaves.retain(|&id| match self.shape.of(id) {
            Some(LeafType::Leafref(reference)) => {
                let is_readable = self.readable.contains(&reference.target);
                // libyang reports an error for a dangling reference.
                is_readable
                    && reference.is_required
                    && self.has_certain_first(id)
                    && (self.may_use_wildcards || self.refers_to_one(id, reference.target))
            }
            _ => false,
        });
        if leaves.is_empty() {
            return None;
        }
        let leaf = pick(self.random, &leaves);
        self.reads.push(leaf);
        let Some(LeafType::Leafref(reference)) = self.shape.of(leaf) else {
            return None;
        };
        let target = reference.target;
        self.reads.push(target);
        self.features.note("xpath deref");
        let path = self.path(leaf);
        let mut siblings = self.shape.data_children(self.shape.data_parent(target));
        siblings.retain(|id| self.readable.contains(id) && self.shape.of(*id).is_some());
        if siblings.is_empty() || self.chance(25) {
            self.features.note("xpath count");
            return Some(format!("count(deref({path})) <= 1"));
        }
        let other = pick(self.random, &siblings);
        self.reads.push(other);
        let place = format!("deref({path})/../{}", self.shape.name(other));
        Some(self.compare(&place, other))
    }

    /// Whether at most one node has the value of a reference.
    fn refers_to_one(&self, leaf: ItemId, target: ItemId) -> bool {
        let outer = self
            .shape
            .chain(target)
            .into_iter()
            .filter(|&at| self.shape.is_list(at));
        let lists: Vec<ItemId> = outer
            .filter(|&list| !self.shape.is_within(leaf, list))
            .collect();
        match lists.as_slice() {
            [] => true,
            [list] => {
                matches!(&self.shape.items[*list].kind, Kind::List { keys, .. } if *keys == [target])
            }
            _ => false,
        }
    }

    /// A condition on the surroundings of the context, without names.
    fn about_place(&mut self) -> String {
        self.features.note("xpath wildcard");
        let inner = self.context.filter(|&id| self.shape.of(id).is_none());
        match (self.random.random_range(0..4), inner) {
            (0, Some(_)) => {
                self.features.note("xpath count");
                format!("count(*) <= {}", self.random.random_range(2..9))
            }
            (1, _) => {
                self.features.note("xpath local-name");
                let name = pick(self.random, &self.readable);
                format!("local-name(..) != '{}'", self.shape.items[name].name)
            }
            (2, Some(_)) => {
                self.features.note("xpath descendant");
                format!(
                    "count(descendant::*) <= {}",
                    self.random.random_range(3..14)
                )
            }
            _ => {
                self.features.note("xpath local-name");
                let name = pick(self.random, &self.readable);
                let name = &self.shape.items[name].name;
                format!(
                    "count(../*[local-name() = '{name}']) <= {}",
                    self.random.random_range(0..3)
                )
            }
        }
    }

    fn about_two(&mut self) -> String {
        let (one, other) = (self.any(), self.any());
        let (left, right) = (self.path(one), self.path(other));
        let is_value = self.shape.of(one).is_some() && self.shape.of(other).is_some();
        match self.random.random_range(0..6) {
            0 => {
                self.features.note("xpath union");
                format!("({left} | {right})")
            }
            1 => {
                self.features.note("xpath union");
                self.features.note("xpath count");
                format!(
                    "count({left} | {right}) != {}",
                    self.random.random_range(0..3)
                )
            }
            2 if is_value => {
                self.features.note("xpath compares nodes");
                format!("{left} = {right}")
            }
            3 | 4 if is_value => {
                self.features.note("xpath compares nodes");
                format!("not({left} = {right})")
            }
            5 if is_value => {
                self.features.note("xpath compares nodes");
                format!("{left} != {right}")
            }
            _ => {
                self.features.note("xpath existence");
                format!("not({left}) or {right}")
            }
        }
    }

    fn about_existence(&mut self) -> String {
        let id = self.any();
        let path = self.path(id);
        self.features.note("xpath existence");
        match self.random.random_range(0..5) {
            0 => path,
            1 => {
                self.features.note("xpath boolean");
                format!("boolean({path})")
            }
            2 => {
                self.features.note("xpath count");
                format!("count({path}) < {}", self.random.random_range(1..4))
            }
            _ => {
                self.features.note("xpath not");
                format!("not({path})")
            }
        }
    }

    fn about_leaf(&mut self) -> String {
        if self.chance(12)
            && let Some(numbers) =
                self.leaf(|of| matches!(of, LeafType::Small | LeafType::SmallWithDefault))
        {
            self.features.note("xpath sum");
            let path = self.path(numbers);
            return format!("sum({path}) <= {}", self.random.random_range(2..12));
        }
        match self.leaf(|_| true) {
            Some(leaf) => {
                let path = self.path(leaf);
                self.compare(&path, leaf)
            }
            None => self.about_existence(),
        }
    }

    /// Whether the first instance is defined, for functions that use the first: not if the order is
    /// system-defined.
    fn has_certain_first(&self, id: ItemId) -> bool {
        let is_sortable = |id: ItemId| {
            let of = self.shape.base(id);
            matches!(
                of,
                LeafType::Small | LeafType::SmallWithDefault | LeafType::Word | LeafType::Decimal
            )
        };
        self.shape
            .chain(id)
            .into_iter()
            .all(|at| match &self.shape.items[at].kind {
                Kind::List { by_user, keys, .. } => {
                    *by_user || keys.iter().all(|&key| is_sortable(key))
                }
                Kind::LeafList { by_user, .. } => *by_user || is_sortable(at),
                _ => true,
            })
    }

    /// A condition on the values of a leaf or leaf-list at a path.
    fn compare(&mut self, path: &str, id: ItemId) -> String {
        let of = &self.shape.base(id).clone();
        let value = literal(self.random, of);
        let is_plain = self.chance(25) || !self.has_certain_first(id);
        if is_plain && !matches!(of, LeafType::Empty | LeafType::InstanceIdentifier { .. }) {
            let operator = pick(self.random, &["=", "!="]);
            return format!("{path} {operator} '{value}'");
        }
        match of {
            LeafType::Small | LeafType::SmallWithDefault => self.compare_number(path),
            LeafType::Word | LeafType::Union | LeafType::UnionWithLeafref(_) => {
                self.compare_text(path)
            }
            LeafType::Enumeration => match self.random.random_range(0..3) {
                0 if matches!(self.shape.of(id), Some(LeafType::Enumeration)) => {
                    self.features.note("xpath enum-value");
                    format!("enum-value({path}) >= {}", self.random.random_range(0..6))
                }
                1 => {
                    self.features.note("xpath string-length");
                    format!(
                        "string-length({path}) != {}",
                        self.random.random_range(2..6)
                    )
                }
                _ => format!("{path} = '{value}'"),
            },
            LeafType::Identity => {
                let base = pick(self.random, &["{t}animal", "{t}cat", "{t}lion", "{i}dog"]);
                let function = pick(self.random, &["derived-from", "derived-from-or-self"]);
                self.features.note(match function {
                    "derived-from" => "xpath derived-from",
                    _ => "xpath derived-from-or-self",
                });
                format!("{function}({path}, '{base}')")
            }
            LeafType::Bits => {
                self.features.note("xpath bit-is-set");
                let bit = pick(self.random, &["b0", "b1", "b2"]);
                format!("bit-is-set({path}, '{bit}')")
            }
            LeafType::Boolean => format!("{path} = '{value}'"),
            LeafType::Decimal => format!("{path} < 1"),
            LeafType::InstanceIdentifier { is_required: true }
                if self.may_use_wildcards && self.has_certain_first(id) =>
            {
                self.features.note("xpath deref");
                format!("count(deref({path})) != {}", self.random.random_range(0..2))
            }
            _ => {
                self.features.note("xpath not");
                format!("not({path})")
            }
        }
    }

    fn compare_number(&mut self, path: &str) -> String {
        let number = self.random.random_range(0..6);
        match self.random.random_range(0..8) {
            0 => {
                self.features.note("xpath mod");
                format!("{path} mod 2 = {}", number % 2)
            }
            1 => {
                self.features.note("xpath div");
                self.features.note("xpath floor");
                // With a leading digit, because libyang evaluates floor(NaN) as the context node.
                format!("floor(concat('0', {path}) div 2) != {}", number / 2)
            }
            2 => {
                self.features.note("xpath number");
                format!("number({path}) + 1 <= {}", number + 1)
            }
            3 => format!("{path} >= {number}"),
            4 => format!("{path} > {number} - 1"),
            5 => format!("{number} >= {path}"),
            _ => format!("{path} <= {number}"),
        }
    }

    fn compare_text(&mut self, path: &str) -> String {
        match self.random.random_range(0..6) {
            0 => {
                self.features.note("xpath re-match");
                let pattern = pick(self.random, &["a.*", "[ab]", "b*", ".+"]);
                format!("re-match({path}, '{pattern}')")
            }
            1 => {
                self.features.note("xpath string-length");
                format!(
                    "string-length({path}) <= {}",
                    self.random.random_range(0..3)
                )
            }
            2 => {
                self.features.note("xpath contains");
                format!("contains({path}, 'b')")
            }
            3 => {
                self.features.note("xpath substring");
                format!("substring({path}, 1, 1) = 'a'")
            }
            4 => {
                self.features.note("xpath concat");
                format!("concat({path}, 'x') != 'ax'")
            }
            _ => {
                self.features.note("xpath translate");
                format!("translate({path}, 'ab', 'b') = 'b'")
            }
        }
    }
}
