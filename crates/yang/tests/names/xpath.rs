//! XPath: random trees, tables of valid and invalid expressions, and every expression of the published models.

use espalier_testkit::seed;
use espalier_yang::xpath::{
    Axis, BinaryOperator, Expr, Expression, Function, LocationPath, NodeTest, PathStep,
    XPATH_CHARS_MAX,
};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// Every prefix is a module's name; no prefix is module `m`.
fn resolve(prefix: Option<&str>) -> Option<Box<str>> {
    match prefix {
        Some("unknown") => None,
        prefix => Some(prefix.unwrap_or("m").into()),
    }
}

fn parse(text: &str) -> Expression {
    Expression::parse(text, &resolve).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn pick<T: Copy>(rng: &mut StdRng, from: &[T]) -> T {
    *from.choose(rng).expect("not empty")
}

fn some(rng: &mut StdRng, least: usize, depth: usize) -> Vec<Expr> {
    let count = rng.random_range(least..least + 2);
    (0..count).map(|_| random_expr(rng, depth)).collect()
}

const AXES: [&str; 13] = [
    "ancestor",
    "ancestor-or-self",
    "attribute",
    "child",
    "descendant",
    "descendant-or-self",
    "following",
    "following-sibling",
    "namespace",
    "parent",
    "preceding",
    "preceding-sibling",
    "self",
];

fn random_step(rng: &mut StdRng, depth: usize) -> PathStep {
    let name = pick(rng, &["a", "div", "and", "text", "self", "x-y.z", "é"]);
    let test = match rng.random_range(0..9) {
        0 => NodeTest::AnyName,
        1 => NodeTest::AnyNameIn("mod".into()),
        2 | 3 => NodeTest::Node,
        4 => NodeTest::Text,
        5 => NodeTest::ProcessingInstruction(rng.random_bool(0.5).then(|| "it's".into())),
        _ => NodeTest::Name(Some(pick(rng, &["m", "or"]).into()), name.into()),
    };
    let axis = match rng.random_range(0..4) {
        0 | 1 => Axis::Child,
        2 => Axis::DescendantOrSelf,
        _ => Axis::from_name(pick(rng, &AXES)).expect("an axis"),
    };
    let has_predicates = depth > 0 && rng.random_bool(0.3);
    PathStep {
        axis,
        test,
        predicates: if has_predicates {
            some(rng, 1, depth - 1)
        } else {
            Vec::new()
        },
    }
}

fn random_steps(rng: &mut StdRng, least: usize, depth: usize) -> Vec<PathStep> {
    let count = rng.random_range(least..4);
    (0..count).map(|_| random_step(rng, depth)).collect()
}

const OPERATORS: [BinaryOperator; 11] = [
    BinaryOperator::Equal,
    BinaryOperator::NotEqual,
    BinaryOperator::Less,
    BinaryOperator::LessOrEqual,
    BinaryOperator::Greater,
    BinaryOperator::GreaterOrEqual,
    BinaryOperator::Add,
    BinaryOperator::Subtract,
    BinaryOperator::Multiply,
    BinaryOperator::Divide,
    BinaryOperator::Modulo,
];

fn random_expr(rng: &mut StdRng, depth: usize) -> Expr {
    let kinds = if depth == 0 { 4 } else { 12 };
    match rng.random_range(0..kinds) {
        0 => Expr::Literal(pick(rng, &["", "it's", "say \"x\"", "é😀", "a b"]).into()),
        1 => Expr::Number(pick(rng, &[0.0, 1.0, 0.5, 1e-7, 1e21, 1e300, 123.456])),
        2 => Expr::Variable(rng.random_bool(0.5).then(|| "mod".into()), "div".into()),
        3 | 4 => {
            let is_absolute = rng.random_bool(0.4);
            let steps = random_steps(rng, usize::from(!is_absolute), depth);
            Expr::Path(LocationPath { is_absolute, steps })
        }
        5 => Expr::Or(some(rng, 2, depth - 1)),
        6 => Expr::And(some(rng, 2, depth - 1)),
        7 => Expr::Union(some(rng, 2, depth - 1)),
        8 => Expr::Negate(Box::new(random_expr(rng, depth - 1))),
        9 => Expr::Binary(
            pick(rng, &OPERATORS),
            Box::new(random_expr(rng, depth - 1)),
            Box::new(random_expr(rng, depth - 1)),
        ),
        10 => {
            let function = pick(rng, &[Function::Concat, Function::Current, Function::Deref]);
            let (least, most) = function.arity();
            let count = rng.random_range(least..=most.min(least + 2));
            let arguments = (0..count).map(|_| random_expr(rng, depth - 1));
            Expr::Call(function, arguments.collect())
        }
        _ => {
            let predicates = some(rng, 0, depth - 1);
            let least = usize::from(predicates.is_empty());
            Expr::Filter {
                primary: Box::new(random_expr(rng, depth - 1)),
                predicates,
                steps: random_steps(rng, least, depth - 1),
            }
        }
    }
}

#[test]
fn printed_expressions_parse_to_the_same_tree() {
    let mut rng = seed::generator();
    for _ in 0..4_000 {
        let expr = random_expr(&mut rng, 4);
        let text = expr.to_string();
        let parsed = parse(&text);
        assert_eq!(parsed.root, expr, "{text}");
        assert_eq!(parsed.to_string(), text);
    }
}

#[test]
fn no_input_panics() {
    let mut rng = seed::generator();
    const PIECES: [&str; 40] = [
        "a",
        "m:b",
        "m:*",
        "*",
        "div",
        "and",
        "or",
        "mod",
        "/",
        "//",
        "..",
        ".",
        "@",
        "::",
        "child",
        "parent::",
        "(",
        ")",
        "[",
        "]",
        ",",
        "|",
        "+",
        "-",
        "=",
        "!=",
        "<=",
        "<",
        "'x'",
        "\"y\"",
        "1",
        ".5",
        "count(",
        "current()",
        "node()",
        "$v",
        " ",
        "é",
        ":",
        "'",
    ];
    let mut accepted = 0;
    for _ in 0..20_000 {
        let count = rng.random_range(0..12);
        let text: String = (0..count).map(|_| pick(&mut rng, &PIECES)).collect();
        match Expression::parse(&text, &resolve) {
            Ok(parsed) => {
                assert_eq!(parse(&parsed.to_string()).root, parsed.root, "{text}");
                accepted += 1;
            }
            Err(error) => assert!(error.column <= text.chars().count() + 1, "{text}: {error}"),
        }
    }
    assert!(accepted > 200, "only {accepted} accepted");
}

#[test]
fn expressions_of_published_models_parse() {
    let mut count = 0;
    for keyword in ["must", "when", "path"] {
        for argument in crate::models::arguments(keyword) {
            let (file, text) = (argument.file, argument.text);
            let parsed = match keyword {
                "path" => Expression::parse_leafref_path(&text, &resolve),
                _ => Expression::parse(&text, &resolve),
            };
            let parsed = parsed.unwrap_or_else(|error| panic!("{file}: {text}: {error}"));
            assert_eq!(
                parse(&parsed.to_string()).root,
                parsed.root,
                "{file}: {text}"
            );
            count += 1;
        }
    }
    println!("{count} expressions");
    assert!(count > 20, "only {count} expressions found");
}

#[track_caller]
fn check(text: &str, canonical: &str) {
    assert_eq!(parse(text).to_string(), canonical);
}

#[test]
fn names_and_operators_are_distinguished() {
    check("div div div", "m:div div m:div");
    check("* * *", "* * *");
    check("and and and or or", "m:and and m:and or m:or");
    check("a/div div 2", "m:a/m:div div 2");
    check("mod mod 2", "m:mod mod 2");
    check("a-b", "m:a-b");
    check("a -b", "m:a - m:b");
    check("a*b", "m:a * m:b");
    check("p:a*p:*", "p:a * p:*");
    check("1*2", "1 * 2");
    check("@*", "@*");
    check("child :: a", "m:a");
    check("count ( text )", "count(m:text)");
    check("text()", "text()");
    check("/*", "/*");
    check(". div ..", ". div ..");
    check("a[1]mod 2", "m:a[1] mod 2");
}

#[test]
fn operators_have_the_right_precedence() {
    check("a or b and c = d", "m:a or m:b and m:c = m:d");
    check("(a or b) and c", "(m:a or m:b) and m:c");
    check("1 - 2 - 3", "1 - 2 - 3");
    check("1 - (2 - 3)", "1 - (2 - 3)");
    check("-a|b", "-m:a | m:b");
    check("(-a)|b", "(-m:a) | m:b");
    check("-2 * -3", "-2 * -3");
    check("-(2 * 3)", "-(2 * 3)");
    check("a < b = c", "m:a < m:b = m:c");
    check("a < (b = c)", "m:a < (m:b = m:c)");
    check("(/) * 2", "(/) * 2");
    check("/ = x", "(/) = m:x");
}

#[test]
fn paths_are_abbreviated() {
    check("/descendant-or-self::node()/child::a", "//m:a");
    check("a//b", "m:a//m:b");
    check(
        "descendant-or-self::node()/a",
        "descendant-or-self::node()/m:a",
    );
    check(
        "a/descendant-or-self::node()",
        "m:a/descendant-or-self::node()",
    );
    check("//.", "//.");
    check("parent::node()/self::node()", "../.");
    check("self::node()[a]", "self::node()[m:a]");
    check("current()/../a", "current()/../m:a");
    check("current()//a", "current()//m:a");
    check("(a|b)[1]//c", "(m:a | m:b)[1]//m:c");
    check("deref(../x)/../p:y", "deref(../m:x)/../p:y");
}

#[track_caller]
fn check_error(text: &str, column: usize, expected: &str) {
    match Expression::parse(text, &resolve) {
        Ok(parsed) => panic!("{text} parses as {parsed}"),
        Err(error) => {
            assert_eq!(error.column, column, "{text}: {error}");
            assert!(error.expected.contains(expected), "{text}: {error}");
        }
    }
}

#[test]
fn errors_have_a_column_and_the_expected_token() {
    check_error("", 1, "an expression");
    check_error("a b", 3, "an operator or the end");
    check_error("a =", 4, "an expression");
    check_error("(a", 3, "')'");
    check_error("a[1", 4, "']'");
    check_error("count(a, b)", 1, "1 argument for count()");
    check_error("concat('x')", 1, "at least 2 arguments");
    check_error("substring('x')", 1, "2 to 3 arguments");
    check_error("true(1)", 1, "0 arguments");
    check_error("count(a", 8, "',' or ')'");
    check_error("foo()", 1, "a function");
    check_error("é + 'x", 5, "a literal that ends");
    check_error("unknown:a", 1, "a known prefix");
    check_error("a/unknown:*", 3, "a known prefix");
    check_error("sideways::a", 1, "the name of an axis");
    check_error("a//", 4, "the name of a node");
    check_error("//", 3, "the name of a node");
    check_error("a/count(b)", 3, "the name of a node");
    check_error("a!b", 2, "a token");
    check_error(".[a]", 2, "an operator or the end");
    check_error("$*", 2, "the name of a variable");
    check_error("/ or x", 6, "an operator or the end");
    check_error(&"9".repeat(400), 1, "a number below");
}

#[test]
fn limits_are_errors() {
    let nested = |depth| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    parse(&nested(100));
    check_error(&nested(101), 102, "levels of nesting");
    let predicates = |depth| format!("{}a{}", "a[".repeat(depth), "]".repeat(depth));
    parse(&predicates(100));
    check_error(&predicates(101), 203, "levels of nesting");
    parse(&format!("a{}", " + a".repeat(498)));
    check_error(
        &format!("a{}", " + a".repeat(500)),
        2_001,
        "operators in one chain",
    );
    check_error(
        &format!("{}a", "-".repeat(500)),
        501,
        "operators in one chain",
    );
    parse(&format!("a{}", " or a".repeat(10_000)));
    parse(&format!("a{}", " | a".repeat(10_000)));
    let long = "a".repeat(XPATH_CHARS_MAX + 1);
    check_error(&long, XPATH_CHARS_MAX + 1, "at most");
}

#[test]
fn unprefixed_names_may_be_of_any_module() {
    let none = |prefix: Option<&str>| prefix.map(Box::from);
    let parsed = Expression::parse("/a[p:b = 1]", &none).expect("parses");
    assert_eq!(parsed.to_string(), "/a[p:b = 1]");
    let Expr::Path(path) = parsed.root else {
        panic!("a path");
    };
    assert_eq!(path.steps[0].test, NodeTest::Name(None, "a".into()));
}

#[test]
fn leafref_paths_are_restricted() {
    for text in [
        "/p:a/b",
        "../../a/b",
        "../a[name = current()/../name]/b",
        "/a[k=current()/../x][l = current()/../../y]/b",
        "deref(../x)/../y",
        "deref(current()/../x)/../y",
        ".",
    ] {
        let parsed = Expression::parse_leafref_path(text, &resolve);
        assert!(parsed.is_ok(), "{text}: {parsed:?}");
    }
    for text in [
        "1",
        "a | b",
        "//a",
        "/",
        "a[1]",
        "a[x = 'y']",
        "*",
        "ancestor::a",
        "current()/../a",
        "count(a)",
    ] {
        assert!(
            Expression::parse_leafref_path(text, &resolve).is_err(),
            "{text}"
        );
    }
}
