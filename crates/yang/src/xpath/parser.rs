//! The grammar (XPath 1.0 §2 and §3), by recursive descent.

use super::lexer::{Spanned, Token, column, tokens};
use super::{
    Axis, BinaryOperator, Expr, Function, Literal, LocationPath, NodeTest, PathStep, Resolve,
    XPathError,
};

/// The maximum length of an expression, in characters.
pub const XPATH_CHARS_MAX: usize = 262_144;

/// The maximum nesting depth of parentheses, predicates and arguments.
pub const XPATH_DEPTH_MAX: usize = 100;

/// The maximum height of the tree. A chain of one operator is as high as it is long, except for `or`, `and` and `|`,
/// whose chains are flat. Recursive tree walks may rely on this limit.
pub const XPATH_HEIGHT_MAX: usize = 500;

/// Parses a whole expression.
pub(super) fn parse(
    text: &str,
    names: &Resolve<'_>,
    literals: &Resolve<'_>,
) -> Result<Expr, XPathError> {
    if text.chars().nth(XPATH_CHARS_MAX).is_some() {
        let expected = format!("at most {XPATH_CHARS_MAX} characters");
        return Err(XPathError::new(XPATH_CHARS_MAX + 1, "more", expected));
    }
    let mut parser = Parser {
        text,
        tokens: tokens(text)?,
        position: 0,
        depth: 0,
        names,
        literals,
    };
    let part = parser.or()?;
    if parser.peek().is_some() {
        return Err(parser.expected("an operator or the end"));
    }
    Ok(part.expr)
}

/// A subtree and its height.
struct Subtree {
    expr: Expr,
    height: usize,
}

/// Predicates and the maximum of their heights.
#[derive(Default)]
struct Predicates {
    exprs: Vec<Expr>,
    height: usize,
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Spanned<'a>>,
    position: usize,
    depth: usize,
    /// Resolves the names of nodes, functions and variables.
    names: &'a Resolve<'a>,
    /// Resolves the names in literals.
    literals: &'a Resolve<'a>,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.position).map(|spanned| spanned.token)
    }

    fn next(&mut self) -> Option<Token<'a>> {
        let token = self.peek()?;
        self.position += 1;
        Some(token)
    }

    fn eat(&mut self, mark: &'static str) -> bool {
        let found = self.peek() == Some(Token::Mark(mark));
        self.position += usize::from(found);
        found
    }

    fn eat_operator(&mut self, operator: &'static str) -> bool {
        let found = self.peek() == Some(Token::Operator(operator));
        self.position += usize::from(found);
        found
    }

    fn expect(&mut self, mark: &'static str) -> Result<(), XPathError> {
        if self.eat(mark) {
            Ok(())
        } else {
            Err(self.expected(format!("'{mark}'")))
        }
    }

    /// An error at the next token.
    fn expected(&self, expected: impl Into<Box<str>>) -> XPathError {
        self.expected_at(self.position, expected)
    }

    /// An error at the token of this index.
    fn expected_at(&self, index: usize, expected: impl Into<Box<str>>) -> XPathError {
        let (offset, found) = match self.tokens.get(index) {
            Some(spanned) => (spanned.offset, spanned.text),
            None => (self.text.len(), ""),
        };
        XPathError::new(column(self.text, offset), found, expected)
    }

    fn subtree(&self, expr: Expr, height: usize) -> Result<Subtree, XPathError> {
        if height > XPATH_HEIGHT_MAX {
            let expected = format!("at most {XPATH_HEIGHT_MAX} operators in one chain");
            return Err(self.expected_at(self.position.saturating_sub(1), expected));
        }
        Ok(Subtree { expr, height })
    }

    /// Parses an expression inside parentheses, brackets or arguments.
    fn nested(&mut self) -> Result<Subtree, XPathError> {
        self.depth += 1;
        if self.depth > XPATH_DEPTH_MAX {
            return Err(self.expected(format!("at most {XPATH_DEPTH_MAX} levels of nesting")));
        }
        let part = self.or()?;
        self.depth -= 1;
        Ok(part)
    }

    fn or(&mut self) -> Result<Subtree, XPathError> {
        let first = self.and()?;
        self.chain(
            first,
            |parser| parser.eat_operator("or"),
            Self::and,
            Expr::Or,
        )
    }

    fn and(&mut self) -> Result<Subtree, XPathError> {
        let first = self.binary(0)?;
        let operand = |parser: &mut Self| parser.binary(0);
        self.chain(
            first,
            |parser| parser.eat_operator("and"),
            operand,
            Expr::And,
        )
    }

    /// Operands separated by one operator; a single operand if there is no operator.
    fn chain(
        &mut self,
        first: Subtree,
        eat: impl Fn(&mut Self) -> bool,
        operand: impl Fn(&mut Self) -> Result<Subtree, XPathError>,
        build: impl Fn(Vec<Expr>) -> Expr,
    ) -> Result<Subtree, XPathError> {
        if !eat(self) {
            return Ok(first);
        }
        let mut height = first.height;
        let mut operands = vec![first.expr];
        loop {
            let next = operand(self)?;
            height = height.max(next.height);
            operands.push(next.expr);
            if !eat(self) {
                return self.subtree(build(operands), height + 1);
            }
        }
    }

    /// Operators that bind at least as strongly as `level`, left-associative.
    fn binary(&mut self, level: u8) -> Result<Subtree, XPathError> {
        let mut left = self.unary()?;
        while let Some(operator) = self.peek().and_then(binary_operator) {
            if operator.level() < level {
                break;
            }
            self.position += 1;
            let right = self.binary(operator.level() + 1)?;
            let height = 1 + left.height.max(right.height);
            let expr = Expr::Binary(operator, Box::new(left.expr), Box::new(right.expr));
            left = self.subtree(expr, height)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Subtree, XPathError> {
        let mut signs = 0;
        while self.eat("-") {
            signs += 1;
        }
        let mut part = self.union()?;
        for _ in 0..signs {
            part = self.subtree(Expr::Negate(Box::new(part.expr)), part.height + 1)?;
        }
        Ok(part)
    }

    fn union(&mut self) -> Result<Subtree, XPathError> {
        let first = self.path()?;
        self.chain(first, |parser| parser.eat("|"), Self::path, Expr::Union)
    }

    /// `PathExpr` (§3.3): a location path, or a filter expression followed by a path.
    fn path(&mut self) -> Result<Subtree, XPathError> {
        if !self.at_primary() {
            return self.location_path();
        }
        let primary = self.primary()?;
        let predicates = self.predicates()?;
        let mut steps = Vec::new();
        let mut height = predicates.height.max(primary.height);
        if self.at_separator() {
            self.separator(&mut steps);
            height = height.max(self.relative_path(&mut steps)?);
        }
        if predicates.exprs.is_empty() && steps.is_empty() {
            return Ok(primary);
        }
        let expr = Expr::Filter {
            primary: Box::new(primary.expr),
            predicates: predicates.exprs,
            steps,
        };
        self.subtree(expr, height + 1)
    }

    fn at_primary(&self) -> bool {
        match self.peek() {
            Some(Token::Mark(mark)) => matches!(mark, "(" | "$"),
            Some(Token::Function(name)) => !is_node_type(name),
            Some(Token::Literal(_) | Token::Number(_)) => true,
            _ => false,
        }
    }

    fn primary(&mut self) -> Result<Subtree, XPathError> {
        let at = self.position;
        match self.next() {
            Some(Token::Mark("(")) => {
                let part = self.nested()?;
                self.expect(")")?;
                Ok(part)
            }
            Some(Token::Mark("$")) => self.variable(),
            Some(Token::Literal(text)) => {
                self.subtree(Expr::Literal(Literal::new(text, self.literals)), 1)
            }
            Some(Token::Number(text)) => self.number(at, text),
            Some(Token::Function(name)) => self.call(at, name),
            _ => Err(self.expected_at(at, "an expression")),
        }
    }

    fn variable(&mut self) -> Result<Subtree, XPathError> {
        let at = self.position;
        match self.next() {
            Some(Token::Name(prefix, name)) if name != "*" => {
                let module = prefix.map(|prefix| self.module(at, prefix)).transpose()?;
                self.subtree(Expr::Variable(module, name.into()), 1)
            }
            _ => Err(self.expected_at(at, "the name of a variable")),
        }
    }

    fn number(&self, at: usize, text: &str) -> Result<Subtree, XPathError> {
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => self.subtree(Expr::Number(number), 1),
            _ => Err(self.expected_at(at, "a number below 1.8e308")),
        }
    }

    fn call(&mut self, at: usize, name: &str) -> Result<Subtree, XPathError> {
        let function = Function::from_name(name)
            .ok_or_else(|| self.expected_at(at, "a function of XPath 1.0 or YANG 1.1"))?;
        self.expect("(")?;
        let mut arguments = Vec::new();
        let mut height = 0;
        if !self.eat(")") {
            loop {
                let argument = self.nested()?;
                height = height.max(argument.height);
                arguments.push(argument.expr);
                if !self.eat(",") {
                    break;
                }
            }
            if !self.eat(")") {
                return Err(self.expected("',' or ')'"));
            }
        }
        let (least, most) = function.arity();
        if arguments.len() < least || arguments.len() > most {
            let expected = format!("{} for {name}()", arity_text(least, most));
            return Err(self.expected_at(at, expected));
        }
        self.subtree(Expr::Call(function, arguments), height + 1)
    }

    fn predicates(&mut self) -> Result<Predicates, XPathError> {
        let mut predicates = Predicates::default();
        while self.eat("[") {
            let part = self.nested()?;
            self.expect("]")?;
            predicates.height = predicates.height.max(part.height);
            predicates.exprs.push(part.expr);
        }
        Ok(predicates)
    }

    fn location_path(&mut self) -> Result<Subtree, XPathError> {
        let mut steps = Vec::new();
        let is_absolute = self.at_separator();
        let mut height = 0;
        if is_absolute {
            self.separator(&mut steps);
        } else if !self.at_step() {
            return Err(self.expected("an expression"));
        }
        if self.at_step() || !steps.is_empty() {
            height = self.relative_path(&mut steps)?;
        }
        self.subtree(Expr::Path(LocationPath { is_absolute, steps }), height + 1)
    }

    fn at_separator(&self) -> bool {
        matches!(self.peek(), Some(Token::Mark("/" | "//")))
    }

    /// Consumes `/` or `//`; the latter is a step of its own.
    fn separator(&mut self, steps: &mut Vec<PathStep>) {
        if self.next() == Some(Token::Mark("//")) {
            steps.push(PathStep::new(Axis::DescendantOrSelf, NodeTest::Node));
        }
    }

    fn at_step(&self) -> bool {
        match self.peek() {
            Some(Token::Mark(mark)) => matches!(mark, "." | ".." | "@"),
            Some(Token::Function(name)) => is_node_type(name),
            Some(Token::AxisName(_) | Token::Name(..)) => true,
            _ => false,
        }
    }

    /// Adds steps; returns the maximum height of their predicates.
    fn relative_path(&mut self, steps: &mut Vec<PathStep>) -> Result<usize, XPathError> {
        let mut height = 0;
        loop {
            height = height.max(self.step(steps)?);
            if !self.at_separator() {
                return Ok(height);
            }
            self.separator(steps);
        }
    }

    fn step(&mut self, steps: &mut Vec<PathStep>) -> Result<usize, XPathError> {
        let abbreviated = match self.peek() {
            Some(Token::Mark(".")) => Some(Axis::SelfNode),
            Some(Token::Mark("..")) => Some(Axis::Parent),
            _ => None,
        };
        if let Some(axis) = abbreviated {
            self.position += 1;
            steps.push(PathStep::new(axis, NodeTest::Node));
            return Ok(0);
        }
        let axis = self.axis()?;
        let test = self.node_test()?;
        let predicates = self.predicates()?;
        steps.push(PathStep {
            axis,
            test,
            predicates: predicates.exprs,
        });
        Ok(predicates.height)
    }

    fn axis(&mut self) -> Result<Axis, XPathError> {
        let at = self.position;
        match self.peek() {
            Some(Token::Mark("@")) => {
                self.position += 1;
                Ok(Axis::Attribute)
            }
            Some(Token::AxisName(name)) => {
                self.position += 1;
                self.expect("::")?;
                Axis::from_name(name).ok_or_else(|| self.expected_at(at, "the name of an axis"))
            }
            _ => Ok(Axis::Child),
        }
    }

    fn node_test(&mut self) -> Result<NodeTest, XPathError> {
        let at = self.position;
        match self.next() {
            Some(Token::Name(None, "*")) => Ok(NodeTest::AnyName),
            Some(Token::Name(Some(prefix), "*")) => {
                Ok(NodeTest::AnyNameIn(self.module(at, prefix)?))
            }
            Some(Token::Name(None, name)) => Ok(NodeTest::Name((self.names)(None), name.into())),
            Some(Token::Name(Some(prefix), name)) => {
                let module = self.module(at, prefix)?;
                Ok(NodeTest::Name(Some(module), name.into()))
            }
            Some(Token::Function(name)) if is_node_type(name) => self.node_type(name),
            _ => Err(self.expected_at(at, "the name of a node or a node test")),
        }
    }

    fn node_type(&mut self, name: &str) -> Result<NodeTest, XPathError> {
        self.expect("(")?;
        let mut target = None;
        if name == "processing-instruction"
            && let Some(Token::Literal(text)) = self.peek()
        {
            self.position += 1;
            target = Some(text.into());
        }
        self.expect(")")?;
        Ok(match name {
            "node" => NodeTest::Node,
            "text" => NodeTest::Text,
            "comment" => NodeTest::Comment,
            _ => NodeTest::ProcessingInstruction(target),
        })
    }

    fn module(&self, at: usize, prefix: &str) -> Result<Box<str>, XPathError> {
        (self.names)(Some(prefix))
            .ok_or_else(|| self.expected_at(at, format!("a known prefix, not '{prefix}'")))
    }
}

impl BinaryOperator {
    /// The precedence of the operator (§3.5).
    pub(super) fn level(self) -> u8 {
        match self {
            Self::Equal | Self::NotEqual => 0,
            Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual => 1,
            Self::Add | Self::Subtract => 2,
            Self::Multiply | Self::Divide | Self::Modulo => 3,
        }
    }
}

fn binary_operator(token: Token<'_>) -> Option<BinaryOperator> {
    let (Token::Mark(text) | Token::Operator(text)) = token else {
        return None;
    };
    Some(match text {
        "=" => BinaryOperator::Equal,
        "!=" => BinaryOperator::NotEqual,
        "<" => BinaryOperator::Less,
        "<=" => BinaryOperator::LessOrEqual,
        ">" => BinaryOperator::Greater,
        ">=" => BinaryOperator::GreaterOrEqual,
        "+" => BinaryOperator::Add,
        "-" => BinaryOperator::Subtract,
        "*" => BinaryOperator::Multiply,
        "div" => BinaryOperator::Divide,
        "mod" => BinaryOperator::Modulo,
        _ => return None,
    })
}

fn is_node_type(name: &str) -> bool {
    matches!(name, "node" | "text" | "comment" | "processing-instruction")
}

fn arity_text(least: usize, most: usize) -> String {
    match (least, most) {
        (1, 1) => "1 argument".to_owned(),
        (least, most) if least == most => format!("{least} arguments"),
        (least, usize::MAX) => format!("at least {least} arguments"),
        (least, most) => format!("{least} to {most} arguments"),
    }
}
