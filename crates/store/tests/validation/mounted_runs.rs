//! Random edits of a mounted schema: each has the verdict and the result that it has in a tree of the schema alone.

use espalier_store::{Selection, Tree};
use espalier_testkit::random_schemas::GeneratedSchema;
use espalier_testkit::seed;
use espalier_yang::data::{Content, DataNode, DataTree, Operation, TreeBuilder};
use espalier_yang::schema::{MountSource, MountedSchemas, SchemaSource};
use espalier_yang::{InstancePath, Keys, NodeId, Schema, Step, Value};
use rand::Rng;
use rand::rngs::StdRng;

use crate::edit::Change;
use crate::edits::changes;
use crate::fixture::{Fixture, Tries, commit, open, read_all, show, sources};

/// The number of schemas in a run, and of edits of each.
const SCHEMAS: usize = 60;
const EDITS: usize = 120;

/// One in this many edits changes the other device too.
const EDITS_PER_COPY: u32 = 10;

const FLEET: &str = "module fleet { yang-version 1.1; namespace urn:fleet; prefix fleet;
    import ietf-yang-schema-mount { prefix yangmnt; }
    list device { key name; leaf name { type string; } container root { yangmnt:mount-point d; } } }";

/// A list of devices with a schema in each of them.
struct Devices {
    tree: Tree,
    /// The mounted nodes, by the nodes of the schema alone.
    nodes: Vec<NodeId>,
    list: NodeId,
    root: NodeId,
}

impl Devices {
    fn new(alone: &Schema, source: &SchemaSource) -> Self {
        let mount = MountSource {
            module: "fleet".to_owned(),
            label: "d".to_owned(),
            schemas: MountedSchemas::Shared {
                schema: source.clone(),
                parent_references: Vec::new(),
            },
        };
        let tree = open(&SchemaSource {
            mounts: vec![mount],
            ..sources([FLEET])
        });
        let schema = tree.schema();
        let root = schema.mounts()[0].node;
        let mut nodes: Vec<NodeId> = Vec::new();
        for node in alone.nodes() {
            let parent = node.parent.map_or(root, |parent| nodes[parent.0 as usize]);
            let module = schema.module_by_name(&alone.module(node.module).name);
            let mounted = module.and_then(|module| schema.child(Some(parent), module, &node.name));
            // The fixture may add a module without data, which is not mounted.
            nodes.push(mounted.unwrap_or(root));
        }
        let list = schema.node(root).parent.unwrap();
        Self {
            nodes,
            list,
            root,
            tree,
        }
    }

    fn device(&self, name: &str) -> InstancePath {
        let keys = Keys::Values(vec![Value::String(name.into())]);
        InstancePath::root().child(self.list, keys)
    }

    fn node(&self, node: &DataNode) -> DataNode {
        let mut mounted = node.clone();
        mounted.node = self.nodes[node.node.0 as usize];
        if let Content::Inner(children) = &mut mounted.content {
            *children = children.iter().map(|child| self.node(child)).collect();
        }
        mounted
    }

    fn forest(&self, tree: &DataTree) -> Vec<DataNode> {
        tree.nodes.iter().map(|node| self.node(node)).collect()
    }

    fn path(&self, name: &str, path: &InstancePath) -> InstancePath {
        let mut mounted = self.device(name).child(self.root, Keys::None);
        mounted.steps.extend(path.steps.iter().map(|step| Step {
            node: self.nodes[step.node.0 as usize],
            keys: step.keys.clone(),
        }));
        mounted
    }

    /// A change of the schema alone, as a change of a device.
    fn change(&self, name: &str, change: &Change) -> Change {
        match change {
            Change::Tree(at, tree, operation) => {
                let nodes = self.forest(tree);
                Change::Tree(self.path(name, at), DataTree { nodes }, *operation)
            }
            Change::Delete(path) => Change::Delete(self.path(name, path)),
            Change::Remove(path) => Change::Remove(self.path(name, path)),
            Change::ReplaceAll(tree) => {
                let root = DataNode::new(self.root, Content::Inner(self.forest(tree)));
                let nodes = vec![root];
                Change::Tree(self.device(name), DataTree { nodes }, Operation::Replace)
            }
        }
    }

    /// Creates a device, or replaces its data.
    fn put(&self, name: &str, tree: &DataTree) -> Result<(), String> {
        let key = self.tree.schema().node(self.list).keys()[0];
        let name = Value::String(name.into());
        let children = vec![
            DataNode::new(key, Content::Value(name)),
            DataNode::new(self.root, Content::Inner(self.forest(tree))),
        ];
        let nodes = vec![DataNode::new(self.list, Content::Inner(children))];
        let put = Change::Tree(InstancePath::root(), DataTree { nodes }, Operation::Replace);
        let done = commit(&self.tree, &[put.to_edit()]);
        done.map(drop).map_err(|error| error.to_string())
    }

    /// The data of a device, as JSON.
    fn show(&self, name: &str) -> String {
        let mut builder = TreeBuilder::new();
        let path = self.device(name).child(self.root, Keys::None);
        let view = self.tree.view().unwrap();
        view.read(&path, &Selection::default(), &mut builder)
            .unwrap();
        let root = builder.finish().unwrap().nodes;
        let nodes = root.iter().flat_map(DataNode::children).cloned().collect();
        show(self.tree.schema(), &DataTree { nodes })
    }
}

/// Applies random edits to a tree of the schema alone and to one of two devices; returns the numbers of accepted and
/// rejected ones.
fn compare(generated: &GeneratedSchema, fixture: &Fixture, random: &mut StdRng) -> [u64; 2] {
    let devices = Devices::new(&fixture.schema, &fixture.source);
    let mut counts = [0, 0];
    let mut tree = DataTree::default();
    for _ in 0..EDITS {
        let (edits, _) = changes(&fixture.schema, random, &tree);
        let alone: Vec<_> = edits.iter().map(Change::to_edit).collect();
        let alone = commit(&fixture.tree, &alone).map(drop);
        if counts[1] == 0 {
            if alone.is_ok() {
                tree = read_all(&fixture.tree);
                for name in ["x", "y"] {
                    let created = devices.put(name, &tree);
                    created.unwrap_or_else(|error| panic!("{error}\n{generated:?}"));
                }
                counts[1] = 1;
            }
            continue;
        }
        let mounted = edits.iter().map(|edit| devices.change("x", edit).to_edit());
        let mounted = commit(&devices.tree, &mounted.collect::<Vec<_>>()).map(drop);
        let before = show(&fixture.schema, &tree);
        let describe = || {
            format!("{generated:?}\n{before}\n{edits:?}\nalone: {alone:?}\nmounted: {mounted:?}")
        };
        assert_eq!(alone.is_ok(), mounted.is_ok(), "{}", describe());
        counts[usize::from(alone.is_ok())] += 1;
        tree = read_all(&fixture.tree);
        assert_eq!(
            devices.show("x"),
            show(&fixture.schema, &tree),
            "{}",
            describe()
        );
        if random.random_ratio(1, EDITS_PER_COPY) {
            let copied = devices.put("y", &tree);
            copied.unwrap_or_else(|error| panic!("{error}\n{}", describe()));
        }
    }
    counts
}

#[test]
fn random_edits_of_a_mounted_schema_have_the_verdicts_of_the_schema_alone() {
    seed::run("mounted", |random| {
        let mut total = [0, 0];
        for _ in 0..SCHEMAS {
            let fixture = Fixture::random(random, &mut Tries::default());
            let generated = fixture.generated.as_ref().expect("a random schema");
            let counts = compare(generated, &fixture, random);
            total[0] += counts[0];
            total[1] += counts[1];
        }
        println!("{} rejected, {} accepted", total[0], total[1]);
        let edits = (SCHEMAS * EDITS) as u64;
        assert!(total.iter().all(|&count| count > edits / 10), "{total:?}");
    });
}
