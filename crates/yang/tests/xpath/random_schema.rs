//! Random modules: every kind of node, every type, defaults, choices, `when`.

use std::fmt::Write;

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};

/// Few names, so that one name occurs in many parents: names of leaves, and of interior nodes.
const LEAVES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const PLACES: [&str; 5] = ["p", "q", "r", "s", "t"];

/// The maximum nesting depth of nodes.
const DEPTH_MAX: usize = 4;

/// The text of a module `o`, with a container `top` with every kind of node.
pub fn module(random: &mut StdRng) -> String {
    let mut generator = Generator {
        random,
        text: String::new(),
        leaves: Vec::new(),
        is_in_choice: false,
    };
    generator.text.push_str(HEADER);
    generator.text.push_str("container top {\n");
    generator.children(1, Data::Config, &mut Names::all());
    generator.text.push_str(ANCHORS);
    generator.text.push_str("}\ncontainer o2 {\n");
    generator.children(2, Data::Config, &mut Names::all());
    // Sorting crashes libyang if the last top-level node has no children.
    generator
        .text
        .push_str("leaf z { type string; default 'z'; }\n}\n}\n");
    generator.text
}

const HEADER: &str = "module o { yang-version 1.1; namespace 'urn:o'; prefix o;
identity base; identity left { base base; } identity right { base base; } identity far-left { base left; }\n";

/// The targets of leafrefs.
const ANCHORS: &str = "leaf anchor { type uint8; }
list pool { key a; leaf a { type string; } leaf b { type uint8; } leaf-list c { type string; } }\n";

#[derive(Clone, Copy, PartialEq)]
enum Data {
    Config,
    State,
}

struct Generator<'r> {
    random: &'r mut StdRng,
    text: String,
    /// Leaves without `when` in the current node, which a `when` may refer to.
    leaves: Vec<(String, &'static str)>,
    is_in_choice: bool,
}

/// The unused names among siblings.
struct Names {
    leaves: Vec<&'static str>,
    places: Vec<&'static str>,
}

impl Names {
    fn all() -> Self {
        Self {
            leaves: LEAVES.to_vec(),
            places: PLACES.to_vec(),
        }
    }
}

/// Types, each with a value.
const TYPES: [(&str, &str); 13] = [
    ("string;", "b"),
    ("string;", "10"),
    ("uint8;", "5"),
    ("int16;", "-1"),
    ("decimal64 { fraction-digits 2; }", "1.5"),
    ("boolean;", "true"),
    (
        "enumeration { enum b { value 4; } enum a; enum c { value -2; } }",
        "a",
    ),
    ("bits { bit r; bit s; bit t; }", "t s"),
    ("identityref { base base; }", "far-left"),
    (
        "union { type uint8; type enumeration { enum a; } type string; }",
        "7",
    ),
    (
        "leafref { path '/o:top/o:anchor'; require-instance false; }",
        "5",
    ),
    (
        "leafref { path '/o:top/o:pool/o:a'; require-instance false; }",
        "b",
    ),
    (
        "leafref { path '/o:top/o:pool/o:c'; require-instance false; }",
        "b",
    ),
];

/// The types whose system order is the same in libyang.
const ORDERED_TYPES: [(&str, &str); 4] = [
    ("string;", "b"),
    ("uint8;", "5"),
    ("int16;", "-1"),
    ("decimal64 { fraction-digits 2; }", "1.5"),
];

impl Generator<'_> {
    fn chance(&mut self, probability: f64) -> bool {
        self.random.random_bool(probability)
    }

    fn children(&mut self, depth: usize, data: Data, names: &mut Names) {
        let outer = std::mem::take(&mut self.leaves);
        let is_in_choice = std::mem::take(&mut self.is_in_choice);
        names.leaves.shuffle(self.random);
        names.places.shuffle(self.random);
        for _ in 0..self.random.random_range(2..=5) {
            self.child(depth, data, names);
        }
        self.leaves = outer;
        self.is_in_choice = is_in_choice;
    }

    fn child(&mut self, depth: usize, data: Data, names: &mut Names) {
        let kinds = match (depth >= DEPTH_MAX, self.is_in_choice) {
            (true, _) => 10,
            (false, true) => 18,
            (false, false) => 20,
        };
        let kind = self.random.random_range(0..kinds);
        let pool = if kind <= 9 {
            &mut names.leaves
        } else {
            &mut names.places
        };
        let Some(name) = pool.pop() else {
            return;
        };
        match kind {
            0..=7 => self.leaf(name),
            8 | 9 => self.leaf_list(name),
            10..=12 => self.container(name, depth, data),
            13..=17 => self.list(name, depth, data),
            _ => self.choice(name, depth, data, names),
        }
    }

    fn leaf(&mut self, name: &'static str) {
        let mut kind = *TYPES.choose(self.random).expect("a type");
        if self.chance(0.05) {
            kind = ("empty;", "");
        } else if self.chance(0.06) {
            kind = ("instance-identifier { require-instance false; }", "");
        }
        let _ = write!(self.text, "leaf {name} {{ type {}", kind.0);
        if !kind.1.is_empty() && self.chance(0.35) {
            let _ = write!(self.text, " default '{}';", kind.1);
        }
        if !self.when() {
            self.leaves.push((name.to_owned(), kind.1));
        }
        self.text.push_str("}\n");
    }

    fn leaf_list(&mut self, name: &'static str) {
        let by_user = self.chance(0.5);
        let pool: &[_] = if by_user { &TYPES } else { &ORDERED_TYPES };
        let kind = pool.choose(self.random).expect("a type");
        let _ = write!(self.text, "leaf-list {name} {{ type {}", kind.0);
        if by_user {
            self.text.push_str(" ordered-by user;");
        }
        if self.chance(0.3) {
            let _ = write!(self.text, " default '{}';", kind.1);
        }
        self.when();
        self.text.push_str("}\n");
    }

    fn container(&mut self, name: &'static str, depth: usize, data: Data) {
        let _ = write!(self.text, "container {name} {{");
        let data = self.turned(data);
        if self.chance(0.3) {
            self.text.push_str(" presence 'x';");
        }
        self.when();
        self.text.push('\n');
        self.children(depth + 1, data, &mut Names::all());
        self.text.push_str("}\n");
    }

    fn list(&mut self, name: &'static str, depth: usize, data: Data) {
        let _ = write!(self.text, "list {name} {{");
        let mut names = Names::all();
        if data == Data::State {
            self.children(depth + 1, data, &mut names);
            self.text.push_str("}\n");
            return;
        }
        names.leaves.shuffle(self.random);
        let keys: Vec<_> = (0..self.random.random_range(1..=2))
            .filter_map(|_| names.leaves.pop())
            .collect();
        let _ = writeln!(self.text, " key '{}';", keys.join(" "));
        if self.chance(0.4) {
            self.text.push_str(" ordered-by user;");
        }
        self.when();
        for key in keys {
            let kind = ORDERED_TYPES.choose(self.random).expect("a type");
            let _ = writeln!(self.text, "leaf {key} {{ type {} }}", kind.0);
        }
        self.children(depth + 1, data, &mut names);
        self.text.push_str("}\n");
    }

    fn choice(&mut self, name: &'static str, depth: usize, data: Data, names: &mut Names) {
        let _ = writeln!(self.text, "choice {name}-choice {{");
        if self.chance(0.6) {
            self.text.push_str("default one;\n");
        }
        let leaves = self.leaves.len();
        self.is_in_choice = true;
        for case in ["one", "two"] {
            let _ = writeln!(self.text, "case {case} {{");
            let before = self.text.len();
            for _ in 0..self.random.random_range(1..=2) {
                self.child(depth, data, names);
            }
            if self.text.len() == before {
                let _ = writeln!(self.text, "leaf {name}-{case} {{ type string; }}");
            }
            self.text.push_str("}\n");
        }
        self.leaves.truncate(leaves);
        self.is_in_choice = false;
        self.text.push_str("}\n");
    }

    /// Changes from configuration to state, sometimes.
    fn turned(&mut self, data: Data) -> Data {
        if data == Data::Config && self.chance(0.15) {
            self.text.push_str(" config false;");
            return Data::State;
        }
        data
    }

    /// A `when` on a sibling leaf, sometimes.
    fn when(&mut self) -> bool {
        let is_wanted = self.chance(0.12);
        let Some((name, value)) = self.leaves.choose(self.random).filter(|_| is_wanted) else {
            return false;
        };
        let operator = if value.len() % 2 == 0 { "=" } else { "!=" };
        let _ = write!(self.text, " when \"../o:{name} {operator} '{value}'\";");
        true
    }
}
