//! XSD patterns: compared with a naive matcher of all of XSD, and with libyang where libyang follows XSD.

use std::collections::BTreeSet;

use espalier_testkit::seed;
use espalier_yang::schema::pattern::translate;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use yang5::context::{Context, ContextFlags};
use yang5::data::{DataFormat, DataParserFlags, DataTree, DataValidationFlags};
use yang5::schema::{SchemaInputFormat, SchemaModule};

/// The characters of the tests, each with its general category.
const CHARS: &[(char, &str)] = &[
    ('a', "Ll"),
    ('b', "Ll"),
    ('z', "Ll"),
    ('A', "Lu"),
    ('0', "Nd"),
    ('9', "Nd"),
    ('_', "Pc"),
    ('-', "Pd"),
    ('.', "Po"),
    (':', "Po"),
    ('/', "Po"),
    ('&', "Po"),
    ('[', "Ps"),
    (']', "Pe"),
    ('\\', "Po"),
    ('~', "Sm"),
    ('^', "Sk"),
    ('$', "Sc"),
    ('+', "Sm"),
    (' ', "Zs"),
    ('\t', "Cc"),
    ('\n', "Cc"),
    ('\r', "Cc"),
    ('é', "Ll"),
    ('٣', "Nd"),
    ('₂', "No"),
    ('€', "Sc"),
    ('\u{b7}', "Po"),
    ('\u{301}', "Mn"),
    ('日', "Lo"),
    ('\u{a0}', "Zs"),
    ('😀', "So"),
];

/// The part of XSD that the generator uses.
#[derive(Clone, Copy, PartialEq)]
enum Dialect {
    /// All of it.
    Xsd,
    /// The common part of libyang and XSD.
    Libyang,
}

#[derive(Clone, Debug)]
enum Set {
    Range(char, char),
    Escape(char),
    Property(&'static str, char),
}

#[derive(Clone, Debug)]
struct Class {
    negated: bool,
    members: Vec<Set>,
    less: Option<Box<Class>>,
}

#[derive(Clone, Debug)]
enum Regex {
    Char(char),
    Any,
    Set(Set),
    Class(Class),
    Sequence(Vec<Regex>),
    Choice(Vec<Regex>),
    Repeat(Box<Regex>, usize, Option<usize>),
}

fn category(c: char) -> &'static str {
    let known = CHARS.iter().find(|(known, _)| *known == c);
    known.expect("a character of the tests").1
}

fn is_name_start(c: char) -> bool {
    "abzA_:é٣₂€日😀".contains(c)
}

impl Set {
    fn contains(&self, c: char) -> bool {
        match *self {
            Self::Range(first, last) => first <= c && c <= last,
            Self::Escape(letter) => {
                let inside = match letter.to_ascii_lowercase() {
                    'd' => category(c) == "Nd",
                    's' => " \t\n\r".contains(c),
                    'w' => !category(c).starts_with(['P', 'Z', 'C']),
                    'i' => is_name_start(c),
                    _ => is_name_start(c) || "09-.\u{b7}\u{301}".contains(c),
                };
                inside == letter.is_ascii_lowercase()
            }
            Self::Property(name, letter) => {
                let inside = match name {
                    "IsBasicLatin" => c <= '\u{7f}',
                    "IsArabic" => c == '٣',
                    "IsEmoticons" => c == '😀',
                    _ => category(c).starts_with(name),
                };
                inside == (letter == 'p')
            }
        }
    }

    fn print(&self, out: &mut String) {
        match *self {
            Self::Range(first, last) => {
                print_char(first, out);
                if first != last {
                    out.push('-');
                    print_char(last, out);
                }
            }
            Self::Escape(letter) => out.extend(['\\', letter]),
            Self::Property(name, letter) => {
                out.push_str(&format!("\\{letter}{{{name}}}"));
            }
        }
    }
}

fn print_char(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\\' | '.' | '-' | '+' | '[' | ']' => out.extend(['\\', c]),
        // Also valid unescaped outside of classes, where libyang handles the escape wrongly.
        '^' => out.push('^'),
        c => out.push(c),
    }
}

impl Class {
    fn contains(&self, c: char) -> bool {
        let inside = self.members.iter().any(|set| set.contains(c)) != self.negated;
        inside && !self.less.as_ref().is_some_and(|less| less.contains(c))
    }

    fn print(&self, out: &mut String) {
        out.push('[');
        if self.negated {
            out.push('^');
        }
        for set in &self.members {
            set.print(out);
        }
        if let Some(less) = &self.less {
            out.push('-');
            less.print(out);
        }
        out.push(']');
    }
}

impl Regex {
    /// The possible ends of a match from `start`.
    fn ends(&self, text: &[char], start: usize) -> BTreeSet<usize> {
        let one = |found: bool| {
            let found = start < text.len() && found;
            found.then_some(start + 1).into_iter().collect()
        };
        let c = text.get(start).copied().unwrap_or('a');
        match self {
            Self::Char(expected) => one(c == *expected),
            Self::Any => one(c != '\n' && c != '\r'),
            Self::Set(set) => one(set.contains(c)),
            Self::Class(class) => one(class.contains(c)),
            Self::Sequence(parts) => parts.iter().fold([start].into(), |starts, part| {
                starts
                    .iter()
                    .flat_map(|&start| part.ends(text, start))
                    .collect()
            }),
            Self::Choice(parts) => parts
                .iter()
                .flat_map(|part| part.ends(text, start))
                .collect(),
            Self::Repeat(part, least, most) => {
                let mut current = BTreeSet::from([start]);
                let mut all = BTreeSet::new();
                for count in 0..=most.unwrap_or(least + text.len() + 1) {
                    if count >= *least {
                        all.extend(current.iter().copied());
                    }
                    current = current
                        .iter()
                        .flat_map(|&start| part.ends(text, start))
                        .collect();
                }
                all
            }
        }
    }

    fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        self.ends(&text, 0).contains(&text.len())
    }

    fn print(&self, out: &mut String) {
        match self {
            Self::Char(c) => print_char(*c, out),
            Self::Any => out.push('.'),
            Self::Set(set) => set.print(out),
            Self::Class(class) => class.print(out),
            Self::Sequence(parts) => parts.iter().for_each(|part| part.print(out)),
            Self::Choice(parts) => {
                out.push('(');
                for (index, part) in parts.iter().enumerate() {
                    if index > 0 {
                        out.push('|');
                    }
                    part.print(out);
                }
                out.push(')');
            }
            Self::Repeat(part, least, most) => {
                let bare = matches!(**part, Self::Char(_) | Self::Any | Self::Set(_));
                if bare || matches!(**part, Self::Class(_) | Self::Choice(_)) {
                    part.print(out);
                } else {
                    out.push('(');
                    part.print(out);
                    out.push(')');
                }
                out.push_str(&match (least, most) {
                    (0, None) => "*".to_owned(),
                    (1, None) => "+".to_owned(),
                    (0, Some(1)) => "?".to_owned(),
                    (least, None) => format!("{{{least},}}"),
                    (least, Some(most)) if least == most => format!("{{{least}}}"),
                    (least, Some(most)) => format!("{{{least},{most}}}"),
                });
            }
        }
    }

    /// A text that should match, if a few attempts find characters.
    fn sample(&self, rng: &mut StdRng, out: &mut String) {
        let mut pick = |allowed: &dyn Fn(char) -> bool| {
            for _ in 0..40 {
                let c = random_char(rng);
                if allowed(c) {
                    return out.push(c);
                }
            }
        };
        match self {
            Self::Char(c) => out.push(*c),
            Self::Any => pick(&|c| c != '\n' && c != '\r'),
            Self::Set(set) => pick(&|c| set.contains(c)),
            Self::Class(class) => pick(&|c| class.contains(c)),
            Self::Sequence(parts) => parts.iter().for_each(|part| part.sample(rng, out)),
            Self::Choice(parts) => {
                if let Some(part) = parts.choose(rng) {
                    part.sample(rng, out);
                }
            }
            Self::Repeat(part, least, most) => {
                let count = rng.random_range(*least..=most.unwrap_or(least + 2));
                (0..count).for_each(|_| part.sample(rng, out));
            }
        }
    }
}

fn random_char(rng: &mut StdRng) -> char {
    CHARS.choose(rng).expect("not empty").0
}

fn random_set(rng: &mut StdRng, dialect: Dialect) -> Set {
    let escapes = match dialect {
        Dialect::Xsd => "dDsSwWiIcC",
        Dialect::Libyang => "dD",
    };
    match rng.random_range(0..4) {
        0 => {
            let letters: Vec<char> = escapes.chars().collect();
            Set::Escape(*letters.choose(rng).expect("not empty"))
        }
        1 => {
            let names: &[&str] = match dialect {
                Dialect::Xsd => &[
                    "L",
                    "Nd",
                    "N",
                    "P",
                    "Sc",
                    "IsBasicLatin",
                    "IsArabic",
                    "IsEmoticons",
                ],
                Dialect::Libyang => &["L", "Lu", "Nd", "N", "P", "Sc", "Zs"],
            };
            let letter = if rng.random_bool(0.7) { 'p' } else { 'P' };
            Set::Property(names.choose(rng).expect("not empty"), letter)
        }
        2 => {
            let (a, b) = (random_char(rng), random_char(rng));
            Set::Range(a.min(b), a.max(b))
        }
        _ => {
            let c = random_char(rng);
            Set::Range(c, c)
        }
    }
}

fn random_class(rng: &mut StdRng, dialect: Dialect, depth: usize) -> Class {
    let count = rng.random_range(1..4);
    let mut members: Vec<Set> = (0..count).map(|_| random_set(rng, dialect)).collect();
    // A leading circumflex would negate; PCRE2 reads `[:a:]` as a POSIX class.
    if matches!(members[0], Set::Range('^' | ':', _)) {
        members[0] = Set::Range('a', 'z');
    }
    let subtracts = dialect == Dialect::Xsd && depth > 0 && rng.random_bool(0.3);
    Class {
        negated: rng.random_bool(0.3),
        members,
        less: subtracts.then(|| Box::new(random_class(rng, dialect, depth - 1))),
    }
}

fn random_regex(rng: &mut StdRng, dialect: Dialect, depth: usize) -> Regex {
    let kinds = if depth == 0 { 4 } else { 8 };
    match rng.random_range(0..kinds) {
        0 | 1 => Regex::Char(random_char(rng)),
        2 => match rng.random_range(0..3) {
            0 => Regex::Any,
            1 => match random_set(rng, dialect) {
                Set::Range(first, _) => Regex::Char(first),
                set => Regex::Set(set),
            },
            _ => Regex::Class(random_class(rng, dialect, 2)),
        },
        3 => Regex::Class(random_class(rng, dialect, 2)),
        4 | 5 => {
            let count = rng.random_range(0..4);
            let parts = (0..count).map(|_| random_regex(rng, dialect, depth - 1));
            Regex::Sequence(parts.collect())
        }
        6 => {
            let count = rng.random_range(1..4);
            let parts = (0..count).map(|_| random_regex(rng, dialect, depth - 1));
            Regex::Choice(parts.collect())
        }
        _ => {
            let least = rng.random_range(0..3);
            let most = rng.random_bool(0.5).then(|| least + rng.random_range(0..3));
            Regex::Repeat(Box::new(random_regex(rng, dialect, depth - 1)), least, most)
        }
    }
}

fn mutate(rng: &mut StdRng, text: &str) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    let at = rng.random_range(0..=chars.len());
    match rng.random_range(0..4) {
        0 => {}
        1 => chars.insert(at, random_char(rng)),
        2 if at < chars.len() => {
            chars.remove(at);
        }
        _ if at < chars.len() => chars[at] = random_char(rng),
        _ => {}
    }
    chars.into_iter().collect()
}

fn candidates(rng: &mut StdRng, regex: &Regex) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for _ in 0..6 {
        let mut text = String::new();
        regex.sample(rng, &mut text);
        texts.push(mutate(rng, &text));
        texts.push(text);
    }
    // The naive matcher and libyang are slow on long texts.
    texts.retain(|text| text.chars().count() <= 24);
    texts.push(String::new());
    texts
}

#[test]
fn patterns_match_like_a_naive_matcher() {
    let mut rng = seed::generator();
    for _ in 0..1_500 {
        let regex = random_regex(&mut rng, Dialect::Xsd, 3);
        let mut xsd = String::new();
        regex.print(&mut xsd);
        let translated = translate(&xsd).unwrap_or_else(|error| panic!("{xsd}: {error}"));
        for text in candidates(&mut rng, &regex) {
            assert_eq!(
                translated.is_match(&text),
                regex.matches(&text),
                "pattern {xsd} as {translated} on {text:?}"
            );
        }
    }
}

/// libyang's results on texts for a pattern; `None` if it rejects the pattern.
fn libyang_verdicts(xsd: &str, texts: &[String]) -> Option<Vec<bool>> {
    let quoted = xsd.replace('\\', "\\\\").replace('"', "\\\"");
    let quoted = quoted.replace('\n', "\\n").replace('\t', "\\t");
    let module = format!(
        "module m {{ namespace \"urn:m\"; prefix m; \
         leaf l {{ type string {{ pattern \"{quoted}\"; }} }} }}"
    );
    let context = Context::new(ContextFlags::NO_YANGLIBRARY).expect("a context");
    SchemaModule::parse_string(&context, &module, SchemaInputFormat::YANG).ok()?;
    let verdict = |text: &String| {
        let json = format!("{{\"m:l\":{}}}", serde_json::Value::from(text.as_str()));
        DataTree::parse_string(
            &context,
            json,
            DataFormat::JSON,
            DataParserFlags::STRICT,
            DataValidationFlags::empty(),
        )
        .is_ok()
    };
    Some(texts.iter().map(verdict).collect())
}

/// Returns whether libyang and XSD agree on this text: PCRE2's dot matches a carriage return.
fn agreed(text: &str) -> bool {
    !text.contains('\r')
}

#[test]
fn patterns_match_like_libyang() {
    let mut rng = seed::generator();
    let mut compared = 0;
    for _ in 0..250 {
        let regex = random_regex(&mut rng, Dialect::Libyang, 3);
        let mut xsd = String::new();
        regex.print(&mut xsd);
        let mut texts = candidates(&mut rng, &regex);
        texts.retain(|text| agreed(text));
        let translated = translate(&xsd).unwrap_or_else(|error| panic!("{xsd}: {error}"));
        let Some(verdicts) = libyang_verdicts(&xsd, &texts) else {
            panic!("libyang rejects {xsd}");
        };
        for (text, expected) in texts.iter().zip(verdicts) {
            assert_eq!(translated.is_match(text), expected, "{xsd} on {text:?}");
            compared += 1;
        }
    }
    println!("{compared} verdicts compared");
}

/// Values close to those that the patterns of published models match.
const PUBLISHED_VALUES: &[&str] = &[
    "",
    "10.0.0.1",
    "10.0.0.256",
    "10.0.0.1%eth0",
    "10.0.0.0/8",
    "10.0.0.0/33",
    "::1",
    "2001:db8::1/64",
    "2001:db8:0:0:0:0:0:1",
    "1::2::3",
    "fe80::1%2",
    "::ffff:10.0.0.1",
    "example.com",
    "-a.example.com.",
    "00:11:22:aa:BB:cc",
    "0.1.2",
    "1.3.6.1.4.1",
    "3.1",
    "2024-02-29T12:00:00Z",
    "2024-02-29T12:00:00.123+01:00",
    "2024-02-29",
    "2024-2-29",
    "xml",
    "_a-b.c",
    "9a",
    "65535:100",
    "0:65535:100",
    "1:10.0.0.1:5",
    "12ab34cd",
    "550e8400-e29b-41d4-a716-446655440000",
    "$0$secret",
    "$1$abc$0123456789012345678901",
    "*",
    "a b",
];

#[test]
fn patterns_of_published_models_match_like_libyang() {
    let mut rng = seed::generator();
    let mut patterns: Vec<_> = crate::models::arguments("pattern");
    patterns.sort_by(|a, b| a.text.cmp(&b.text));
    patterns.dedup_by(|a, b| a.text == b.text);
    assert!(
        patterns.len() > 20,
        "only {} patterns found",
        patterns.len()
    );
    let mut texts: Vec<String> = PUBLISHED_VALUES.iter().map(|&s| s.to_owned()).collect();
    for _ in 0..200 {
        let text = PUBLISHED_VALUES.choose(&mut rng).expect("not empty");
        texts.push(mutate(&mut rng, text));
    }
    texts.retain(|text| agreed(text));
    let (mut matched, mut compared) = (0, 0);
    for pattern in &patterns {
        let (file, xsd) = (&pattern.file, &pattern.text);
        let translated = translate(xsd);
        let Some(verdicts) = libyang_verdicts(xsd, &texts) else {
            continue;
        };
        let translated = translated.unwrap_or_else(|error| panic!("{file}: {xsd}: {error}"));
        for (text, expected) in texts.iter().zip(verdicts) {
            assert_eq!(
                translated.is_match(text),
                expected,
                "{file}: {xsd} on {text:?}"
            );
            matched += usize::from(expected);
            compared += 1;
        }
    }
    println!(
        "{} patterns, {compared} verdicts, {matched} matches",
        patterns.len()
    );
    assert!(matched > 100);
}

/// Texts that match and texts that do not; or the column and a part of the reason.
type Expected<'a> = Result<(&'a [&'a str], &'a [&'a str]), (usize, &'a str)>;

#[track_caller]
fn check(xsd: &str, expected: Expected<'_>) {
    match (translate(xsd), expected) {
        (Ok(regex), Ok((matching, other))) => {
            for text in matching {
                assert!(regex.is_match(text), "{xsd} as {regex} on {text:?}");
            }
            for text in other {
                assert!(!regex.is_match(text), "{xsd} as {regex} on {text:?}");
            }
        }
        (Err(error), Err((column, reason))) => {
            assert_eq!(error.column, column, "{xsd}: {error}");
            assert!(error.reason.contains(reason), "{xsd}: {error}");
        }
        (got, expected) => panic!("{xsd}: got {got:?}, expected {expected:?}"),
    }
}

#[test]
fn anchors_are_characters() {
    check("^a$", Ok((&["^a$"], &["a"])));
    check("a|b^", Ok((&["a", "b^"], &["b", "ab"])));
    check(r"\^\$", Ok((&["^$"], &[""])));
}

#[test]
fn classes_take_what_the_engine_treats_specially() {
    check("[a&&b]", Ok((&["&", "a", "b"], &["~"])));
    check("[a~~b]", Ok((&["~"], &["&"])));
    check("[+--]", Ok((&["+", ",", "-"], &["."])));
    check("[a-]", Ok((&["a", "-"], &["b"])));
    check("[-a]", Ok((&["a", "-"], &["b"])));
    check(r"[\w-.]", Ok((&["-", ".", "x"], &["/"])));
    check("[a[b]", Ok((&["[", "a", "b"], &["]"])));
    check("[a^]", Ok((&["a", "^"], &["b"])));
    check("[^a^]", Ok((&["b"], &["a", "^"])));
    check("[a-z-[a-z]]", Ok((&[], &["a", "-", ""])));
    check("[a-z-[b-y-[m]]]+", Ok((&["amz"], &["b", "ab"])));
    check("[^a-c-[x]]", Ok((&["d"], &["a", "x"])));
}

#[test]
fn syntax_not_in_xsd_is_rejected_with_its_column() {
    check("ab+?", Err((4, "lazy")));
    check("a++", Err((3, "possessive")));
    check("a**", Err((3, "second")));
    check("(a)\\1", Err((5, "back-references")));
    check("(?:a)", Err((2, "'(?'")));
    check("a(b", Err((2, "never closed")));
    check("a)b", Err((2, "unexpected ')'")));
    check("[abc", Err((5, "never closed")));
    check("a]", Err((2, "without its opening")));
    check("[]", Err((2, "empty")));
    check("[z-a]", Err((4, "backwards")));
    check(r"\p{Foo}", Err((7, "neither")));
    check(r"\p{IsFoo}", Err((9, "neither")));
    check(r"\b", Err((2, "does not exist")));
    check("a\\", Err((3, "nothing after")));
    check("+a", Err((1, "nothing for the quantifier")));
    check("a{2,1}", Err((2, "less than")));
    check("a{,1}", Err((3, "expected a number")));
    check("a{70000}", Err((3, "more often than 65535")));
    check(r"x(\w{9999}){9999}", Err((5, "repetitions")));
}

#[test]
fn limits_are_errors() {
    let deep = |depth| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    check(&deep(100), Ok((&["a"], &[""])));
    check(&deep(101), Err((101, "nested")));
    let classes = format!("{}a{}", "[a-".repeat(200), "]".repeat(200));
    assert!(translate(&classes).is_err());
    check(&"a".repeat(65_537), Err((65_537, "longer")));
}
