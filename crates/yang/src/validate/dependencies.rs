//! The dependencies of an expression: every schema node that it reads, and the route to it from the context node.
//!
//! The expression is evaluated over the schema instead of data: a location path gives the schema nodes that it can
//! reach. The result is conservative: a constraint may be checked unnecessarily, but is never skipped.

use crate::instances::Side;
use crate::schema::{NodeId, NodeKind, Schema, TypeKind};
use crate::xpath::{
    Axis, BinaryOperator, Expr, Expression, Function, NodeTest, PathStep, is_positional,
};

use super::plan::is_on_path_to;
use super::route::{Join, Route};

/// An expression that can reach more nodes of the schema than this is checked on every change.
const ROUTES_MAX: usize = 2048;

/// The dependencies of an expression.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dependencies {
    /// The routes to the nodes that it reads; the last node of each is read.
    pub routes: Vec<Route>,
    /// Whether the dependencies are unknown, so that it may read everything.
    pub is_unbounded: bool,
    /// Lists and leaf-lists whose entries it counts.
    pub counted: Vec<NodeId>,
    /// Leaves whose sum over a list it reads.
    pub summed: Vec<NodeId>,
    /// Leaves that an order comparison reads in all entries of a list.
    pub ordered: Vec<NodeId>,
    /// Whether it distinguishes siblings of the node this many levels above the context node.
    position_level: Option<usize>,
}

impl Dependencies {
    /// The dependencies of an expression whose context node is `levels_up` levels above an instance of `node`.
    pub fn of(
        schema: &Schema,
        expression: &Expression,
        node: Option<NodeId>,
        levels_up: usize,
    ) -> Self {
        let context = Route::up(node, levels_up);
        let mut analysis = Analysis {
            schema,
            context: context.clone(),
            dependencies: Self::default(),
        };
        analysis.read(&expression.root, &[context], NodeSetUse::Existence);
        analysis.dependencies
    }

    /// The minimum number of levels that every route goes up at its start: the expression has the same value for all
    /// context nodes below one ancestor at that level.
    pub fn common_levels_up(&self) -> usize {
        let first = self.routes.iter().flat_map(|route| {
            let segment = &route.segments[0];
            let joined = route.segments.iter().flat_map(|segment| &segment.joins);
            std::iter::once(segment.up).chain(joined.map(|join| join.up))
        });
        match self.is_unbounded {
            true => 0,
            false => first.chain(self.position_level).min().unwrap_or(0),
        }
    }
}

/// The use of a node-set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeSetUse {
    /// Only the existence or number of the nodes.
    Existence,
    /// The content of the nodes.
    Value,
}

struct Analysis<'s> {
    schema: &'s Schema,
    context: Route,
    dependencies: Dependencies,
}

impl Analysis<'_> {
    /// Analyses an expression for each context node.
    fn read(&mut self, expr: &Expr, at: &[Route], usage: NodeSetUse) {
        match expr {
            Expr::Or(parts) | Expr::And(parts) => {
                for part in parts {
                    self.read(part, at, NodeSetUse::Existence);
                }
            }
            Expr::Binary(operator, left, right) => {
                if is_order_comparison(*operator) {
                    for operand in [left, right] {
                        let leaves = self.leaves_of_lists(operand, at);
                        self.dependencies.ordered.extend(leaves);
                    }
                }
                self.read(left, at, NodeSetUse::Value);
                self.read(right, at, NodeSetUse::Value);
            }
            Expr::Negate(inner) => self.read(inner, at, NodeSetUse::Value),
            Expr::Union(_) | Expr::Path(_) | Expr::Filter { .. } => {
                let routes = self.nodes(expr, at);
                self.record_use(&routes, usage);
            }
            Expr::Call(function, arguments) => self.call(*function, arguments, at, usage),
            Expr::Literal(..) | Expr::Number(_) | Expr::Variable(..) => {}
        }
    }

    fn call(&mut self, function: Function, arguments: &[Expr], at: &[Route], usage: NodeSetUse) {
        match function {
            Function::Current | Function::Deref => {
                let routes = self.nodes_of_call(function, arguments, at);
                self.record_use(&routes, usage);
            }
            Function::Count => {
                for argument in arguments {
                    let routes = self.nodes(argument, at);
                    if is_plain_child(argument) {
                        let ends = routes
                            .iter()
                            .filter_map(|route| route.last().end(self.schema));
                        let lists = ends.filter(|&end| {
                            let node = self.schema.node(end);
                            node.is_list() || node.is_leaf_list()
                        });
                        self.dependencies.counted.extend(lists);
                    }
                    self.record_use(&routes, NodeSetUse::Existence);
                }
            }
            Function::Sum => {
                for argument in arguments {
                    let leaves = self.leaves_of_lists(argument, at);
                    self.dependencies.summed.extend(leaves);
                    self.read(argument, at, NodeSetUse::Value);
                }
            }
            Function::Not
            | Function::Boolean
            | Function::LocalName
            | Function::Name
            | Function::NamespaceUri => {
                for argument in arguments {
                    self.read(argument, at, NodeSetUse::Existence);
                }
            }
            _ => {
                let reads_context = arguments.is_empty()
                    && matches!(
                        function,
                        Function::String
                            | Function::Number
                            | Function::StringLength
                            | Function::NormalizeSpace
                    );
                if reads_context {
                    self.record_use(at, NodeSetUse::Value);
                }
                for argument in arguments {
                    self.read(argument, at, NodeSetUse::Value);
                }
            }
        }
    }

    /// The leaves of a path that goes through all entries of a list: `../entry/leaf`.
    fn leaves_of_lists(&mut self, expr: &Expr, at: &[Route]) -> Vec<NodeId> {
        if !ends_in_all_entries(expr) {
            return Vec::new();
        }
        let ends = self.nodes(expr, at);
        let ends = ends
            .iter()
            .filter_map(|route| route.last().end(self.schema));
        ends.filter(|&leaf| is_in_list(self.schema, leaf)).collect()
    }

    /// The routes to the nodes of a node-set.
    fn nodes(&mut self, expr: &Expr, at: &[Route]) -> Vec<Route> {
        match expr {
            Expr::Union(parts) => {
                let mut routes = Vec::new();
                for part in parts {
                    routes.extend(self.nodes(part, at));
                }
                self.distinct(routes)
            }
            Expr::Path(path) => {
                let from = match path.is_absolute {
                    true => at.iter().map(|route| self.root_of(route)).collect(),
                    false => at.to_vec(),
                };
                self.steps(from, &path.steps)
            }
            Expr::Filter {
                primary,
                predicates,
                steps,
            } => {
                let routes = self.nodes(primary, at);
                let routes = self.apply_predicates(routes, predicates);
                self.steps(routes, steps)
            }
            Expr::Call(function, arguments) => self.nodes_of_call(*function, arguments, at),
            other => {
                self.read(other, at, NodeSetUse::Value);
                Vec::new()
            }
        }
    }

    fn nodes_of_call(
        &mut self,
        function: Function,
        arguments: &[Expr],
        at: &[Route],
    ) -> Vec<Route> {
        match function {
            Function::Current => vec![self.context.clone()],
            Function::Deref => {
                let mut targets = Vec::new();
                for route in arguments
                    .iter()
                    .flat_map(|argument| {
                        let routes = self.nodes(argument, at);
                        self.record_use(&routes, NodeSetUse::Value);
                        routes
                    })
                    .collect::<Vec<_>>()
                {
                    self.deref(&route, &mut targets);
                }
                self.distinct(targets)
            }
            _ => {
                self.call(function, arguments, at, NodeSetUse::Value);
                Vec::new()
            }
        }
    }

    fn deref(&mut self, route: &Route, targets: &mut Vec<Route>) {
        let Some(leaf) = route.last().end(self.schema) else {
            return;
        };
        let Some(value) = self.schema.node(leaf).as_value() else {
            return;
        };
        match &value.value_type.kind {
            TypeKind::LeafRef {
                target: Some(target),
                path,
                ..
            } => {
                let target_route = route.deref_to(*target);
                self.record(target_route.clone());
                targets.push(target_route);
                // The target also depends on what the path itself reads, except for nodes that exist whenever the
                // target does.
                let inner = Dependencies::of(self.schema, path, Some(leaf), 0);
                self.dependencies.is_unbounded |= inner.is_unbounded;
                let is_along = |route: &Route| {
                    let end = route.last().end(self.schema);
                    end.is_some_and(|end| is_on_path_to(self.schema, end, *target))
                };
                for inner_route in inner.routes.into_iter().filter(|route| !is_along(route)) {
                    let mut segments = route.segments.clone();
                    match compose(segments.pop(), &inner_route.segments[0], self.schema) {
                        Some(segment) => segments.push(segment),
                        None => self.dependencies.is_unbounded = true,
                    }
                    segments.extend_from_slice(&inner_route.segments[1..]);
                    self.record(Route { segments });
                }
            }
            TypeKind::InstanceIdentifier { .. } | TypeKind::Union(_) => {
                self.dependencies.is_unbounded = true
            }
            _ => {}
        }
    }

    fn root_of(&self, route: &Route) -> Route {
        let mut route = route.clone();
        let segment = route.last_mut();
        segment.up = super::route::depth(self.schema, segment.start);
        segment.down.clear();
        segment.joins.clear();
        segment.nearest = None;
        // A route from the root does not depend on the start of the segment.
        if route.segments.len() > 1 {
            let start = self.context.last().start;
            let up = super::route::depth(self.schema, start);
            return Route::up(start, up);
        }
        route
    }

    fn steps(&mut self, from: Vec<Route>, steps: &[PathStep]) -> Vec<Route> {
        let mut routes = from;
        for step in steps {
            let mut next = Vec::new();
            for route in &routes {
                self.axis(route, step, &mut next);
                if next.len() > ROUTES_MAX {
                    self.dependencies.is_unbounded = true;
                    return Vec::new();
                }
            }
            let mut next = self.distinct(next);
            self.nearest(&routes, step, &mut next);
            routes = self.apply_predicates(next, &step.predicates);
            if !matches!(step.axis, Axis::SelfNode | Axis::Parent) {
                for route in &routes {
                    self.record(route.clone());
                }
            }
        }
        routes
    }

    /// A step to the nearest sibling, `preceding-sibling::entry[1]`, from the entries of the same list.
    fn nearest(&self, from: &[Route], step: &PathStep, next: &mut [Route]) {
        let side = match step.axis {
            Axis::PrecedingSibling => Side::Before,
            Axis::FollowingSibling => Side::After,
            _ => return,
        };
        let ([from], [to]) = (from, next) else {
            return;
        };
        let is_first = step.predicates.first() == Some(&Expr::Number(1.0));
        let is_upwards = from.segments.len() == 1 && from.last().down.is_empty();
        let end = to.last().end(self.schema);
        let is_list = end.is_some_and(|end| self.schema.node(end).is_list());
        if is_first && is_upwards && is_list && end == from.last().end(self.schema) {
            to.last_mut().nearest = Some(side);
        }
    }

    fn axis(&mut self, route: &Route, step: &PathStep, next: &mut Vec<Route>) {
        let test = &step.test;
        match step.axis {
            Axis::SelfNode => self.push_if_passes(route.clone(), test, next),
            Axis::Child => self.children(route, test, next),
            Axis::Parent => {
                if let Some(parent) = self.parent(route) {
                    self.push_if_passes(parent, test, next);
                }
            }
            Axis::Ancestor | Axis::AncestorOrSelf => {
                if step.axis == Axis::AncestorOrSelf {
                    self.push_if_passes(route.clone(), test, next);
                }
                let mut at = self.parent(route);
                while let Some(route) = at {
                    at = self.parent(&route);
                    self.push_if_passes(route, test, next);
                }
            }
            Axis::Descendant | Axis::DescendantOrSelf => {
                if step.axis == Axis::DescendantOrSelf {
                    self.push_if_passes(route.clone(), test, next);
                }
                self.descendants(route, test, next);
            }
            Axis::FollowingSibling | Axis::PrecedingSibling => {
                self.record_position(route);
                if let Some(parent) = self.parent(route) {
                    self.children(&parent, test, next);
                }
            }
            Axis::Following | Axis::Preceding => {
                self.record_position(route);
                let root = self.root_of(route);
                self.descendants(&root, test, next);
            }
            Axis::Attribute | Axis::Namespace => {}
        }
    }

    /// Records that the expression depends on the position of a node among its siblings.
    fn record_position(&mut self, route: &Route) {
        let segment = &route.segments[0];
        if route.segments.len() == 1 && segment.down.is_empty() {
            let level = self
                .dependencies
                .position_level
                .map_or(segment.up, |position_level| position_level.min(segment.up));
            self.dependencies.position_level = Some(level);
        }
    }

    fn parent(&self, route: &Route) -> Option<Route> {
        route.last().end(self.schema)?;
        let mut parent = route.clone();
        parent.last_mut().ascend();
        Some(parent)
    }

    fn children(&mut self, route: &Route, test: &NodeTest, next: &mut Vec<Route>) {
        if *test == NodeTest::Text {
            self.record_use(std::slice::from_ref(route), NodeSetUse::Value);
            return;
        }
        for child in children_of(self.schema, route.last().end(self.schema)) {
            if self.passes(child, test) {
                let mut child_route = route.clone();
                child_route.last_mut().down.push(child);
                next.push(child_route);
            }
        }
    }

    fn descendants(&mut self, route: &Route, test: &NodeTest, next: &mut Vec<Route>) {
        for child in children_of(self.schema, route.last().end(self.schema)) {
            let mut child_route = route.clone();
            child_route.last_mut().down.push(child);
            self.push_if_passes(child_route.clone(), test, next);
            if next.len() > ROUTES_MAX {
                return;
            }
            self.descendants(&child_route, test, next);
        }
    }

    fn push_if_passes(&mut self, route: Route, test: &NodeTest, next: &mut Vec<Route>) {
        let passes = match (route.last().end(self.schema), test) {
            (_, NodeTest::Node) => true,
            (Some(node), test) => self.passes(node, test),
            (None, _) => false,
        };
        if passes {
            next.push(route);
        }
    }

    fn passes(&self, node: NodeId, test: &NodeTest) -> bool {
        let node = self.schema.node(node);
        let is_of = |module: &str| *self.schema.module(node.module).name == *module;
        match test {
            NodeTest::Name(module, name) => {
                node.name == *name && module.as_deref().is_none_or(is_of)
            }
            NodeTest::AnyName | NodeTest::Node => true,
            NodeTest::AnyNameIn(module) => is_of(module),
            NodeTest::Text | NodeTest::Comment | NodeTest::ProcessingInstruction(_) => false,
        }
    }

    /// Applies predicates: records what they read, and converts their equalities to joins.
    fn apply_predicates(&mut self, mut routes: Vec<Route>, predicates: &[Expr]) -> Vec<Route> {
        let mut may_join = true;
        for predicate in predicates {
            may_join &= !is_positional(predicate);
            if may_join {
                for route in &mut routes {
                    self.join(route, predicate);
                }
            }
            let at = routes.clone();
            self.read(predicate, &at, NodeSetUse::Existence);
        }
        routes
    }

    /// Converts the equalities of a predicate on an entry to joins.
    fn join(&self, route: &mut Route, predicate: &Expr) {
        match predicate {
            Expr::And(parts) => {
                for part in parts {
                    self.join(route, part);
                }
            }
            Expr::Binary(BinaryOperator::Equal, left, right) => {
                let segment = route.last();
                let (Some(&entry), true) = (segment.down.last(), route.segments.len() == 1) else {
                    return;
                };
                let pair = self.leaf_of(entry, left).zip(self.route_to_operand(right));
                let pair =
                    pair.or_else(|| self.leaf_of(entry, right).zip(self.route_to_operand(left)));
                if let Some((leaf, (up, down))) = pair {
                    let depth = segment.down.len() - 1;
                    route.last_mut().joins.push(Join {
                        depth,
                        leaf,
                        up,
                        down,
                    });
                }
            }
            _ => {}
        }
    }

    /// The route from an entry to the leaf that an operand refers to: the leaf, after the containers that contain it.
    fn leaf_of(&self, entry: NodeId, operand: &Expr) -> Option<Vec<NodeId>> {
        let Expr::Path(path) = operand else {
            return None;
        };
        if path.is_absolute || path.steps.iter().any(|step| !step.predicates.is_empty()) {
            return None;
        }
        if let [step] = path.steps.as_slice()
            && step.axis == Axis::SelfNode
        {
            let is_leaf_list = self.schema.node(entry).is_leaf_list();
            return is_leaf_list.then(|| vec![entry]);
        }
        let mut nodes = Vec::new();
        for step in &path.steps {
            let parent = nodes.last().copied().unwrap_or(entry);
            if step.axis != Axis::Child || self.schema.node(parent).as_value().is_some() {
                return None;
            }
            let mut found = children_of(self.schema, Some(parent))
                .filter(|&child| self.passes(child, &step.test));
            let child = found.next()?;
            let is_one = matches!(
                self.schema.node(child).kind,
                NodeKind::Leaf(_) | NodeKind::Container { .. }
            );
            if !is_one || found.next().is_some() {
                return None;
            }
            nodes.push(child);
        }
        let leaf = *nodes.last()?;
        matches!(self.schema.node(leaf).kind, NodeKind::Leaf(_)).then_some(nodes)
    }

    /// The route from the context node to the leaf that an operand refers to.
    fn route_to_operand(&self, operand: &Expr) -> Option<(usize, Vec<NodeId>)> {
        let Expr::Filter {
            primary,
            predicates,
            steps,
        } = operand
        else {
            return match operand {
                Expr::Call(Function::Current, _) => self.leaf_end(self.context.clone()),
                _ => None,
            };
        };
        if !matches!(**primary, Expr::Call(Function::Current, _)) || !predicates.is_empty() {
            return None;
        }
        let mut route = self.context.clone();
        for step in steps {
            if !step.predicates.is_empty() {
                return None;
            }
            match step.axis {
                Axis::Parent if step.test == NodeTest::Node => route = self.parent(&route)?,
                Axis::SelfNode if step.test == NodeTest::Node => {}
                Axis::Child => {
                    let end = route.last().end(self.schema);
                    let mut found = children_of(self.schema, end)
                        .filter(|&child| self.passes(child, &step.test));
                    let child = found.next()?;
                    if found.next().is_some() {
                        return None;
                    }
                    route.last_mut().down.push(child);
                }
                _ => return None,
            }
        }
        self.leaf_end(route)
    }

    fn leaf_end(&self, route: Route) -> Option<(usize, Vec<NodeId>)> {
        let end = route.last().end(self.schema)?;
        self.schema.node(end).as_value()?;
        let mut segment = route.segments.into_iter().next()?;
        // A context node that is the leaf itself: relative to its parent.
        if segment.down.is_empty() {
            segment.down.push(end);
            segment.up += 1;
        }
        Some((segment.up, segment.down))
    }

    fn record_use(&mut self, routes: &[Route], usage: NodeSetUse) {
        for route in routes {
            let end = route.last().end(self.schema);
            let is_inner = end.is_none_or(|end| self.schema.node(end).as_value().is_none());
            if !is_inner || usage == NodeSetUse::Existence {
                self.record(route.clone());
                continue;
            }
            // The string value of a node is the text of all its descendants.
            let mut inside = Vec::new();
            self.descendants(route, &NodeTest::Node, &mut inside);
            if inside.len() > ROUTES_MAX {
                self.dependencies.is_unbounded = true;
                return;
            }
            inside.into_iter().for_each(|route| self.record(route));
        }
    }

    /// Records that the end of a route is read. Ancestors on the way up exist in any case.
    fn record(&mut self, route: Route) {
        let segment = route.last();
        let is_leaf = segment
            .end(self.schema)
            .is_some_and(|end| self.schema.node(end).as_value().is_some());
        if segment.down.is_empty() && !is_leaf {
            // The expression still depends on the position of its context node.
            if route.segments.len() == 1
                && segment.up == 0
                && !self.dependencies.routes.contains(&route)
            {
                self.dependencies.routes.push(route);
            }
            return;
        }
        if !self.dependencies.routes.contains(&route) {
            self.dependencies.routes.push(route);
        }
        if self.dependencies.routes.len() > ROUTES_MAX {
            self.dependencies.is_unbounded = true;
        }
    }

    fn distinct(&self, routes: Vec<Route>) -> Vec<Route> {
        let mut result: Vec<Route> = Vec::with_capacity(routes.len());
        for route in routes {
            if !result.contains(&route) {
                result.push(route);
            }
        }
        result
    }
}

/// Returns whether a path ends with two steps to all children of a name.
pub(crate) fn ends_in_all_entries(expr: &Expr) -> bool {
    let Expr::Path(crate::xpath::LocationPath { steps, .. }) = expr else {
        return false;
    };
    let is_plain = |step: &PathStep| {
        step.axis == Axis::Child
            && step.predicates.is_empty()
            && matches!(step.test, NodeTest::Name(..))
    };
    let is_descent = |step: &PathStep| step.axis == Axis::DescendantOrSelf;
    match &steps[..] {
        [.., before, list, leaf] => !is_descent(before) && is_plain(list) && is_plain(leaf),
        [list, leaf] => is_plain(list) && is_plain(leaf),
        _ => false,
    }
}

/// Returns whether a node is a configuration leaf without default, directly in the entries of a list.
pub(crate) fn is_in_list(schema: &Schema, leaf: NodeId) -> bool {
    let node = schema.node(leaf);
    let list = node.parent.map(|parent| schema.node(parent));
    let is_plain = match &node.kind {
        NodeKind::Leaf(value) => value.defaults.is_empty(),
        _ => false,
    };
    is_plain && node.is_config && list.is_some_and(crate::schema::Node::is_list)
}

fn is_order_comparison(operator: BinaryOperator) -> bool {
    matches!(
        operator,
        BinaryOperator::Less
            | BinaryOperator::LessOrEqual
            | BinaryOperator::Greater
            | BinaryOperator::GreaterOrEqual
    )
}

/// Returns whether a path ends with a step to all children of a name.
fn is_plain_child(expr: &Expr) -> bool {
    let (Expr::Path(crate::xpath::LocationPath { steps, .. }) | Expr::Filter { steps, .. }) = expr
    else {
        return false;
    };
    steps
        .last()
        .is_some_and(|step| step.axis == Axis::Child && step.predicates.is_empty())
}

/// Appends a segment to another that ends at its start.
fn compose(
    first: Option<super::route::Segment>,
    then: &super::route::Segment,
    schema: &Schema,
) -> Option<super::route::Segment> {
    let mut segment = first?;
    if segment.end(schema) != then.start {
        return None;
    }
    (0..then.up).for_each(|_| segment.ascend());
    segment.down.extend_from_slice(&then.down);
    Some(segment)
}

/// The child data nodes of a node, or the top-level ones.
fn children_of(schema: &Schema, node: Option<NodeId>) -> impl Iterator<Item = NodeId> + '_ {
    let children = node.map_or(schema.roots(), |node| schema.node(node).children.as_slice());
    children.iter().copied().filter(|&child| {
        !matches!(
            schema.node(child).kind,
            NodeKind::Action | NodeKind::Notification | NodeKind::Rpc
        )
    })
}
