//! The fixture: a store with the data of one size, on which rows are measured.

use espalier_store::{CommitOptions, Datastore, Edit, Tree};
use espalier_yang::data::{Content, DataNode, DataTree};
use espalier_yang::{InstancePath, NodeId, Schema, Value};

use super::comparison::Comparison;
use crate::configuration::Configuration;
use crate::dataset::expect;
use crate::engine::Durability;
use crate::harness::Repetitions;
use crate::model_store::{Model, ModelStore};
use crate::row::Row;
use espalier_terminal::{Failure, Result};

/// The model.
pub const MODEL: Model = Model {
    name: "espalier-bench-tables",
    text: include_str!("../models/espalier-bench-tables.yang"),
};

/// The container with both lists.
pub const TABLES: &str = "/espalier-bench-tables:tables";

/// The list in the order of its keys.
pub const ROWS: &str = "/espalier-bench-tables:tables/row";

/// The user-ordered list.
pub const STEPS: &str = "/espalier-bench-tables:tables/step";

/// The content of running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunningContent {
    /// Nothing.
    Nothing,
    /// The container and every row.
    Rows,
    /// The container and every step.
    Steps,
}

/// The nodes of the model.
#[derive(Clone, Copy)]
pub struct Nodes {
    /// The container.
    pub tables: NodeId,
    /// The list, its keys and its text.
    pub row: (NodeId, NodeId, NodeId, NodeId),
    /// The list, its key and its text.
    pub step: (NodeId, NodeId, NodeId),
}

impl Nodes {
    fn of(schema: &Schema) -> Result<Self> {
        let module = schema.module_by_name(MODEL.name);
        let child = |parent, name| {
            let node = module.and_then(|module| schema.child(parent, module, name));
            node.ok_or_else(|| Failure::data(format!("the bench's model has no {name}")))
        };
        let tables = child(None, "tables")?;
        let (row, step) = (child(Some(tables), "row")?, child(Some(tables), "step")?);
        let of = |list, name| child(Some(list), name);
        Ok(Self {
            tables,
            row: (row, of(row, "number")?, of(row, "name")?, of(row, "text")?),
            step: (step, of(step, "number")?, of(step, "text")?),
        })
    }

    /// A tree with `size` rows.
    pub fn rows(self, size: u64) -> DataTree {
        let (row, number, name, text) = self.row;
        let leaf = |node, value| DataNode::new(node, Content::Value(value));
        let rows = (0..size).map(|n| {
            let leaves = vec![
                leaf(number, Value::Uint32(n as u32)),
                leaf(name, Value::string(format!("str{n}"))),
                leaf(text, Value::string(format!("l{n}"))),
            ];
            DataNode::new(row, Content::Inner(leaves))
        });
        self.tree(rows.collect())
    }

    /// A tree with `size` steps.
    pub fn steps(self, size: u64) -> DataTree {
        let (step, number, text) = self.step;
        let leaf = |node, value| DataNode::new(node, Content::Value(value));
        let steps = (0..size).map(|n| {
            let leaves = vec![
                leaf(number, Value::Uint32(n as u32)),
                leaf(text, Value::string(format!("l{n}"))),
            ];
            DataNode::new(step, Content::Inner(leaves))
        });
        self.tree(steps.collect())
    }

    fn tree(self, entries: Vec<DataNode>) -> DataTree {
        let tables = DataNode::new(self.tables, Content::Inner(entries));
        DataTree {
            nodes: vec![tables],
        }
    }
}

/// The path of the text of a row, as text.
pub fn text_of_row(n: u64) -> String {
    format!("{ROWS}[number='{n}'][name='str{n}']/text")
}

/// The path of the text of a step, as text.
pub fn text_of_step(n: u64) -> String {
    format!("{STEPS}[number='{n}']/text")
}

/// A store with the data of one size.
pub struct Fixture<'a, 'o> {
    /// The running datastore.
    pub store: ModelStore,
    /// The operational datastore.
    pub operational: Tree,
    /// The number of entries.
    pub size: u64,
    /// The nodes of its model.
    pub nodes: Nodes,
    /// The position of the measured row among those of the suite.
    pub rank: usize,
    data: RunningContent,
    comparison: &'a mut Comparison<'o>,
}

/// The name, the note and the repetitions of a row.
#[derive(Clone, Copy)]
pub struct RowSpec<'r> {
    /// Its name.
    pub row: &'r str,
    /// Further information.
    pub note: &'r str,
    /// The repetitions.
    pub plan: Repetitions,
}

impl<'a, 'o> Fixture<'a, 'o> {
    /// Opens a new, empty store.
    pub fn open(
        configuration: &Configuration,
        size: u64,
        comparison: &'a mut Comparison<'o>,
    ) -> Result<Self> {
        let store = ModelStore::open(configuration, MODEL)?;
        let nodes = Nodes::of(store.tree.schema())?;
        Ok(Self {
            operational: store.tree.sibling_datastore(Datastore::Operational, "")?,
            store,
            size,
            nodes,
            rank: 0,
            data: RunningContent::Nothing,
            comparison,
        })
    }

    /// The entry that rows on one entry use.
    pub fn middle(&self) -> u64 {
        self.size / 2
    }

    /// The repetitions of an operation on one entry.
    pub fn one_entry_repetitions(&self) -> Repetitions {
        match self.store.configuration.durability {
            Durability::Durable => Repetitions::many(200),
            _ => Repetitions::many(2_000.min(20 * self.size)),
        }
    }

    /// The repetitions of an operation on all entries.
    pub fn all_entries_repetitions(&self) -> Repetitions {
        Repetitions::few(5)
    }

    /// Gives running this content, outside the measured time.
    pub fn fill_running(&mut self, data: RunningContent) -> Result<()> {
        if self.data == data {
            return Ok(());
        }
        let clear = Edit::remove(self.store.path(TABLES)?);
        let fill = match data {
            RunningContent::Nothing => None,
            RunningContent::Rows => Some(self.nodes.rows(self.size)),
            RunningContent::Steps => Some(self.nodes.steps(self.size)),
        };
        let fill = fill.map(|tree| Edit::merge(InstancePath::root(), tree));
        let edits: Vec<Edit> = std::iter::once(clear).chain(fill).collect();
        self.store.commit(&edits)?;
        self.data = data;
        Ok(())
    }

    /// Measures a row and emits it. `check` must revert what `operation` changes.
    pub fn measure<T>(
        &mut self,
        spec: RowSpec<'_>,
        mut operation: impl FnMut(&ModelStore, u64) -> Result<T>,
        mut check: impl FnMut(&ModelStore, T) -> Result<()>,
    ) -> Result<()> {
        let (store, rank) = (&self.store, self.rank);
        let row = store.row(self.comparison.suite, spec.row, self.size);
        let row = store.measured(
            Row { rank, ..row },
            spec.plan,
            |call| operation(store, call),
            |_, answer| check(store, answer),
        )?;
        self.comparison
            .row(&store.configuration, row.note(spec.note))
    }
}

/// Fails unless the list has the expected number of entries.
pub fn expect_entries(tree: &Tree, list: &InstancePath, expected: u64) -> Result<()> {
    let found = tree.view()?.count(list)?;
    expect(found == expected, || {
        format!("{found} entries instead of {expected}")
    })
}

/// Commits to a datastore.
pub fn commit(tree: &Tree, edits: &[Edit]) -> Result<()> {
    let commit = tree.commit(edits, CommitOptions::default())?;
    expect(commit.is_changed, || "a commit changed nothing".to_owned())
}
