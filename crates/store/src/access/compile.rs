//! Compiles rules against a schema.

use std::rc::Rc;

use espalier_yang::schema::{ModuleId, Node};
use espalier_yang::{NodeId, Schema};
use rustc_hash::FxHashMap;

use super::matching::{Condition, ConditionId};
use super::rule::{AccessOperation, AccessRules, DataRule, DenyMark, PatternStep};
use super::table::{AccessTable, OPERATIONS, Program, ReadBelow, Uniform};

impl AccessTable {
    /// Compiles the rules of a user. Linear in the nodes of the schema, and in the rules for each node on the way to
    /// one that a path names.
    pub fn compile(schema: &Schema, rules: &AccessRules<'_>) -> Self {
        let mut compiler = Compiler::new(schema, rules);
        let (mut matching, mut pending) = (Vec::new(), Vec::new());
        for (rule, DataRule { path, .. }) in rules.rules.iter().enumerate() {
            match path.as_ref().is_none_or(|path| path.steps.is_empty()) {
                true => matching.push((rule, None)),
                false => pending.push(Pending {
                    rule,
                    steps: 0,
                    condition: None,
                }),
            }
        }
        let above = Above {
            matching: matching.into(),
            pending: pending.into(),
            mark: None,
        };
        let tops = [schema.roots(), schema.operations(), schema.notifications()];
        for &top in tops.into_iter().flatten() {
            compiler.node(top, &above);
        }
        compiler.finish()
    }
}

/// A rule that matches a node, with the condition on its instance.
type Matching = (usize, Option<ConditionId>);

/// A rule whose first steps lead to a node.
#[derive(Clone, Copy)]
struct Pending {
    rule: usize,
    /// The number of steps that match.
    steps: usize,
    condition: Option<ConditionId>,
}

/// What holds for the children of a node.
struct Above {
    /// The rules that match the node, in order.
    matching: Rc<[Matching]>,
    pending: Rc<[Pending]>,
    mark: Option<DenyMark>,
}

/// The programs of all nodes with the same matching rules, module and mark. The rules are compared by address: nodes
/// below the last step of a path share them.
type ProgramsKey = (*const Matching, usize, ModuleId, Option<DenyMark>);

struct Compiler<'a> {
    schema: &'a Schema,
    rules: &'a AccessRules<'a>,
    table: AccessTable,
    programs: FxHashMap<Program, u32>,
    known: FxHashMap<ProgramsKey, [u32; OPERATIONS]>,
    /// Keeps the addresses in `known` valid.
    matchings: Vec<Rc<[Matching]>>,
}

impl<'a> Compiler<'a> {
    fn new(schema: &'a Schema, rules: &'a AccessRules<'a>) -> Self {
        let nodes = schema.nodes().count();
        let denied = ReadBelow {
            any: [Uniform::Denied; 2],
            no_condition: [Uniform::Denied; 2],
        };
        Self {
            schema,
            rules,
            table: AccessTable {
                programs: Vec::new(),
                nodes: vec![[0; OPERATIONS]; nodes],
                read_below: vec![denied; nodes],
                writes_all: true,
                reads_all: true,
                conditions: Vec::new(),
                conditions_at: FxHashMap::default(),
            },
            programs: FxHashMap::default(),
            known: FxHashMap::default(),
            matchings: Vec::new(),
        }
    }

    fn finish(mut self) -> AccessTable {
        let roots = self.schema.roots();
        let mut reads = roots.iter().map(|root| self.table.read_below(*root, true));
        self.table.reads_all = reads.all(|below| below == Uniform::Allowed);
        self.table
    }

    fn node(&mut self, id: NodeId, above: &Above) {
        let node = self.schema.node(id);
        let mark = above.mark.max((self.rules.marks)(node));
        let (matching, pending) = self.step(node, above);
        let below = Above {
            matching,
            pending,
            mark,
        };
        let programs = self.programs_of(&below.matching, node.module, mark);
        self.table.nodes[id.0 as usize] = programs;
        if node.is_config {
            let writes = [
                AccessOperation::Create,
                AccessOperation::Update,
                AccessOperation::Delete,
            ];
            let is_allowed = |operation: AccessOperation| {
                let program = &self.table.programs[programs[operation as usize] as usize];
                program.result(false, true) == Uniform::Allowed
            };
            self.table.writes_all &= writes.into_iter().all(is_allowed);
        }
        for &child in &node.children {
            self.node(child, &below);
        }
        self.table.read_below[id.0 as usize] = self.summary(node, programs);
    }

    /// The rules that match a node and those that may match below it.
    fn step(&mut self, node: &Node, above: &Above) -> (Rc<[Matching]>, Rc<[Pending]>) {
        if above.pending.is_empty() {
            return (Rc::clone(&above.matching), Rc::clone(&above.pending));
        }
        let mut more: Vec<Matching> = Vec::new();
        let mut pending = Vec::new();
        for &Pending {
            rule,
            steps,
            condition,
        } in &*above.pending
        {
            let pattern = self.rules.rules[rule].path.as_ref();
            let Some(path) = pattern.map(|path| path.steps.as_slice()) else {
                continue;
            };
            let step = &path[steps];
            if step.node != node.id {
                continue;
            }
            let condition = self.condition(step, condition);
            match steps + 1 == path.len() {
                true => more.push((rule, condition)),
                false => pending.push(Pending {
                    rule,
                    steps: steps + 1,
                    condition,
                }),
            }
        }
        let matching = match more.is_empty() {
            true => Rc::clone(&above.matching),
            false => {
                more.extend_from_slice(&above.matching);
                more.sort_unstable();
                more.into()
            }
        };
        (matching, pending.into())
    }

    /// The condition on the entries of a step, or that of the enclosing entries if it has none.
    fn condition(&mut self, step: &PatternStep, outer: Option<ConditionId>) -> Option<ConditionId> {
        if !step.is_conditional() {
            return outer;
        }
        let condition = Condition::new(step.node, &step.keys, outer);
        let known = self.table.conditions_at.entry(step.node).or_default();
        let found = known
            .iter()
            .find(|id| self.table.conditions[id.0 as usize] == condition);
        if let Some(&found) = found {
            return Some(found);
        }
        let id = ConditionId(self.table.conditions.len() as u32);
        known.push(id);
        self.table.conditions.push(condition);
        Some(id)
    }

    fn programs_of(
        &mut self,
        matching: &Rc<[Matching]>,
        module: ModuleId,
        mark: Option<DenyMark>,
    ) -> [u32; OPERATIONS] {
        let key = (matching.as_ptr(), matching.len(), module, mark);
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let programs = AccessOperation::ALL.map(|operation| {
            let program = self.program(operation, matching, module, mark);
            let next = self.programs.len() as u32;
            *self.programs.entry(program).or_insert_with_key(|program| {
                self.table.programs.push(program.clone());
                next
            })
        });
        self.matchings.push(Rc::clone(matching));
        self.known.insert(key, programs);
        programs
    }

    fn program(
        &self,
        operation: AccessOperation,
        matching: &[Matching],
        module: ModuleId,
        mark: Option<DenyMark>,
    ) -> Program {
        let defaults = &self.rules.defaults;
        let (default, weakest_mark) = match operation {
            AccessOperation::Read => (defaults.read, DenyMark::All),
            AccessOperation::Exec => (defaults.exec, DenyMark::All),
            _ => (defaults.write, DenyMark::Write),
        };
        let mut cases = Vec::new();
        for &(rule, condition) in matching {
            let rule: &DataRule = &self.rules.rules[rule];
            let is_match = rule.operations.contains(operation)
                && rule.module.is_none_or(|of_rule| of_rule == module);
            if is_match {
                cases.push((condition, bool::from(rule.effect)));
                if condition.is_none() {
                    break;
                }
            }
        }
        Program {
            cases: cases.into(),
            default: bool::from(default) && mark.is_none_or(|mark| mark < weakest_mark),
        }
    }

    /// What holds for the reading of a node and its descendants.
    fn summary(&self, node: &Node, programs: [u32; OPERATIONS]) -> ReadBelow {
        let read = programs[AccessOperation::Read as usize] as usize;
        let program = &self.table.programs[read];
        let below = |is_parent_allowed: bool, no_condition: bool| {
            let own = program.result(no_condition, is_parent_allowed);
            let mut all = own;
            for &child in &node.children {
                if all == Uniform::Mixed {
                    break;
                }
                let child_below = &self.table.read_below[child.0 as usize];
                let of_parent = usize::from(own == Uniform::Allowed);
                all = all.and(match no_condition {
                    false => child_below.any[of_parent],
                    true if self.has_outermost_condition(child) => Uniform::Mixed,
                    true => child_below.no_condition[of_parent],
                });
            }
            all
        };
        ReadBelow {
            any: [below(false, false), below(true, false)],
            no_condition: [below(false, true), below(true, true)],
        }
    }

    /// Whether a condition on the entries of a node may hold if none holds for the enclosing ones.
    fn has_outermost_condition(&self, node: NodeId) -> bool {
        let conditions = self.table.conditions_at.get(&node);
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|id| self.table.conditions[id.0 as usize].outer.is_none())
    }
}

impl Program {
    /// The result for all instances; with `no_condition`, for those for which no condition holds.
    fn result(&self, no_condition: bool, is_parent_allowed: bool) -> Uniform {
        let mut result = None;
        let default = self.default && is_parent_allowed;
        let cases = self
            .cases
            .iter()
            .filter(|(condition, _)| condition.is_none() || !no_condition);
        let mut has_default = true;
        for &(condition, is_allowed) in cases {
            has_default &= condition.is_some();
            result = Some(merge(result, is_allowed));
        }
        if has_default {
            result = Some(merge(result, default));
        }
        result.unwrap_or(Uniform::Denied)
    }
}

fn merge(result: Option<Uniform>, is_allowed: bool) -> Uniform {
    let one = Uniform::of(is_allowed);
    result.map_or(one, |other| other.and(one))
}
