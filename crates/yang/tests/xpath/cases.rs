//! Examples of every axis, operator and function. Each case: the context, the expression, its value.

use espalier_yang::data::TreeInstances;

use crate::fixture::{evaluated, schema, tree};

const DATA: &str = r#"{
  "garage:garage": {
    "name": "Ada",
    "phone": ["3", "1", "2"],
    "car": [
      {"plate": "A 1", "colour": "blue", "options": "hook radio", "kind": "winter-wheel", "owner": 20,
       "tag": ["x", "y"],
       "wheel": [{"side": "l", "row": 1, "pressure": 30}, {"side": "r", "row": 1, "pressure": 31}]},
      {"plate": "B 2", "doors": 2, "colour": "red", "kind": "trailer:axle", "owner": 99,
       "wheel": [{"side": "l", "row": 2}]},
      {"plate": "C 3", "doors": 5, "kind": "motor", "trailer:trailer": {"name": "Zoë"}}
    ],
    "person": [
      {"id": 20, "name": " Bo  Li ", "knows": 10, "best": "/garage:garage/car[plate='A 1']/wheel[side='r'][row='1']"},
      {"id": 10, "name": "Cy", "knows": 20, "first-phone": "1"}
    ]
  }
}"#;

const CAR: &str = "/garage/car[plate = 'A 1']";

/// Context, expression, value.
type Case = (&'static str, &'static str, &'static str);

fn check(cases: &[Case]) {
    let schema = schema();
    let tree = tree(&schema, DATA);
    let data = TreeInstances::new(&schema, &tree);
    for (context, expression, expected) in cases {
        let found = evaluated(&data, context, expression);
        let found = found.unwrap_or_else(|error| format!("{error}"));
        let expected = expected.replace('~', "/garage:garage");
        assert_eq!(found, expected, "{expression} at {context}");
    }
}

const PATHS_GO_ALONG_EVERY_AXIS: &[Case] = &[
    ("/", "garage", "~"),
    (
        "/garage",
        "car",
        "~/car[plate='A 1'] ~/car[plate='B 2'] ~/car[plate='C 3']",
    ),
    ("/garage", "child::name", "~/name=Ada"),
    ("/garage", "t:name", "~/name=other"),
    ("/garage", "g:*[position() < 3]", "~/name=Ada ~/opened=1999"),
    ("/garage", "phone", "~/phone=3 ~/phone=1 ~/phone=2"),
    ("/garage", "day", "~/day=1 ~/day=2"),
    (CAR, "..", "~"),
    (CAR, "../..", "/"),
    (CAR, "../../..", ""),
    (CAR, "wheel/..", "~/car[plate='A 1']"),
    (CAR, "wheel/../..", "~"),
    (
        "/garage",
        "car/wheel/..",
        "~/car[plate='A 1'] ~/car[plate='B 2']",
    ),
    (CAR, "ancestor::node()", "/ ~"),
    (CAR, "ancestor-or-self::*", "~ ~/car[plate='A 1']"),
    (CAR, "ancestor-or-self::*[1]", "~/car[plate='A 1']"),
    (CAR, "ancestor::*[last()]", "~"),
    (
        CAR,
        "following-sibling::car",
        "~/car[plate='B 2'] ~/car[plate='C 3']",
    ),
    (CAR, "following-sibling::*[2]", "~/car[plate='C 3']"),
    (
        "/garage/car[3]",
        "preceding-sibling::car",
        "~/car[plate='A 1'] ~/car[plate='B 2']",
    ),
    (
        "/garage/car[3]",
        "preceding-sibling::car[1]",
        "~/car[plate='B 2']",
    ),
    (
        "/garage/car[3]",
        "preceding-sibling::car[last()]",
        "~/car[plate='A 1']",
    ),
    (
        "/garage/phone[. = '1']",
        "preceding-sibling::phone",
        "~/phone=3",
    ),
    (
        "/garage/phone[. = '1']",
        "following-sibling::phone",
        "~/phone=2",
    ),
    (
        CAR,
        "descendant::row",
        "~/car[plate='A 1']/wheel[side='l'][row='1']/row=1 ~/car[plate='A 1']/wheel[side='r'][row='1']/row=1",
    ),
    (
        "/garage/person[1]",
        "descendant-or-self::person",
        "~/person[id='20']",
    ),
    (
        "/",
        "//pressure[. > 30]",
        "~/car[plate='A 1']/wheel[side='r'][row='1']/pressure=31",
    ),
    ("/", "count(//wheel)", "3"),
    (
        "/",
        "//wheel[1]/../plate",
        "~/car[plate='A 1']/plate=A 1 ~/car[plate='B 2']/plate=B 2",
    ),
    ("/", "count(/descendant::wheel[1])", "1"),
    (
        "/",
        "//car[plate = 'B 2']//row",
        "~/car[plate='B 2']/wheel[side='l'][row='2']/row=2",
    ),
    (
        "/garage/car[2]/wheel",
        "following::t:name",
        "~/car[plate='C 3']/trailer:trailer/name=Zoë ~/name=other",
    ),
    (
        "/garage/car[2]/wheel",
        "preceding::row[1]",
        "~/car[plate='A 1']/wheel[side='r'][row='1']/row=1",
    ),
    ("/garage/car[2]/wheel", "count(preceding::wheel)", "2"),
    (
        "/garage/car[2]/wheel",
        "preceding::plate",
        "~/car[plate='A 1']/plate=A 1 ~/car[plate='B 2']/plate=B 2",
    ),
    ("/garage/name", "self::name", "~/name=Ada"),
    ("/garage/name", "self::opened", ""),
    ("/garage/name", "text()", "~/name=Ada/text()"),
    ("/garage/name", "text()/..", "~/name=Ada"),
    ("/garage/name", "node()", ""),
    ("/garage", "text()", ""),
    (CAR, "count(.//text())", "15"),
    ("/garage", "@name", ""),
    ("/garage", "namespace::node()", ""),
    ("/garage", "comment() | processing-instruction()", ""),
    ("/garage", "count(*) = count(node())", "true"),
];

#[test]
fn paths_go_along_every_axis() {
    check(PATHS_GO_ALONG_EVERY_AXIS);
}

const WHAT_IS_NOT_STORED_BUT_IN_USE_IS_THERE: &[Case] = &[
    ("/garage", "opened", "~/opened=1999"),
    ("/garage", "motto", "~/motto=fast"),
    ("/garage", "office/shelf", "~/office/shelf"),
    ("/garage", "office/shelf/books", ""),
    ("/garage", "office/desk", "~/office/desk=oak"),
    ("/garage", "yard/size", "~/yard/size=10.5"),
    ("/garage", "gate", ""),
    ("/garage", "gate/width", ""),
    (
        "/garage",
        "pressure | meter/reading",
        "~/pressure=4 ~/meter/reading=7",
    ),
    ("/garage", "logs | dry | iron | tile", ""),
    (
        "/garage",
        "car/doors",
        "~/car[plate='A 1']/doors=4 ~/car[plate='B 2']/doors=2 ~/car[plate='C 3']/doors=5",
    ),
    (
        "/garage",
        "car[doors = 4]/plate",
        "~/car[plate='A 1']/plate=A 1",
    ),
    (
        "/garage",
        "car/t:trailer/t:length",
        "~/car[plate='A 1']/trailer:trailer/length=5 ~/car[plate='C 3']/trailer:trailer/length=5",
    ),
];

#[test]
fn defaults_in_use_exist_without_being_stored() {
    check(WHAT_IS_NOT_STORED_BUT_IN_USE_IS_THERE);
}

const PREDICATES_SELECT: &[Case] = &[
    (
        "/",
        "/garage/car[plate = 'B 2']/doors",
        "~/car[plate='B 2']/doors=2",
    ),
    (
        "/",
        "/garage/car['B 2' = plate][1]/doors",
        "~/car[plate='B 2']/doors=2",
    ),
    ("/", "/garage/car[plate = 'B 2'][2]", ""),
    (
        "/",
        "/garage/car[2][plate = 'B 2']/plate",
        "~/car[plate='B 2']/plate=B 2",
    ),
    ("/", "/garage/car[plate = 'none']", ""),
    (
        "/",
        "/garage/car/wheel[side = 'l'][row = 2]/row",
        "~/car[plate='B 2']/wheel[side='l'][row='2']/row=2",
    ),
    (
        "/",
        "/garage/car/wheel[row = '02' and side = 'l']/row",
        "~/car[plate='B 2']/wheel[side='l'][row='2']/row=2",
    ),
    ("/", "count(/garage/car/wheel[row = 1])", "2"),
    ("/", "count(/garage/car/wheel[row = 1.5])", "0"),
    (
        "/",
        "/garage/person[id = /garage/car/owner]/id",
        "~/person[id='20']/id=20",
    ),
    ("/", "/garage/person[2]/id", "~/person[id='10']/id=10"),
    ("/", "/garage/person[last()]/id", "~/person[id='10']/id=10"),
    (
        "/",
        "/garage/person[position() = last() - 1]/id",
        "~/person[id='20']/id=20",
    ),
    ("/", "/garage/person[1.5]", ""),
    ("/", "/garage/phone[. = '1']", "~/phone=1"),
    ("/", "/garage/phone[. = 1]", "~/phone=1"),
    ("/", "/garage/day[. = '02']", "~/day=2"),
    ("/", "/garage/day[2]", "~/day=2"),
    (
        "/",
        "(/garage/car/plate)[2]",
        "~/car[plate='B 2']/plate=B 2",
    ),
    (
        "/",
        "(/garage/car | /garage/person)[4]/id",
        "~/person[id='20']/id=20",
    ),
    (
        "/garage/person[1]",
        "/garage/car[owner = current()/id]/plate",
        "~/car[plate='A 1']/plate=A 1",
    ),
    (
        "/garage/person[1]",
        "current()/../person[id = current()/knows]/name",
        "~/person[id='10']/name=Cy",
    ),
    (
        "/garage/person[1]",
        "../person[id != current()/id and knows = current()/id]/id",
        "~/person[id='10']/id=10",
    ),
    (
        "/",
        "/garage/car[tag = 'y']/plate",
        "~/car[plate='A 1']/plate=A 1",
    ),
    (
        "/",
        "/garage/car[wheel[row = 2]]/plate",
        "~/car[plate='B 2']/plate=B 2",
    ),
    (
        "/",
        "/garage/car[not(wheel)]/plate",
        "~/car[plate='C 3']/plate=C 3",
    ),
    (
        "/",
        "/garage/car[plate = 'A 1' or plate = 'C 3'][2]/plate",
        "~/car[plate='C 3']/plate=C 3",
    ),
    (
        "/",
        "/garage/car[true()][3]/plate",
        "~/car[plate='C 3']/plate=C 3",
    ),
    ("/", "/garage/car[plate = ../none]", ""),
    (
        "/",
        "/garage/car[string(plate)]/plate[. = 'A 1']",
        "~/car[plate='A 1']/plate=A 1",
    ),
];

#[test]
fn predicates_select() {
    check(PREDICATES_SELECT);
}

const OPERATORS_COMPUTE_AND_COMPARE: &[Case] = &[
    ("/", "1 + 2 * 3 - 4 div 2", "5"),
    ("/", "5 mod 3", "2"),
    ("/", "-5 mod 3", "-2"),
    ("/", "1.5 mod -0.4", "0.29999999999999993"),
    ("/", "1 div 0", "Infinity"),
    ("/", "-1 div 0", "-Infinity"),
    ("/", "0 div 0", "NaN"),
    ("/", "-(-3)", "3"),
    ("/", "1 div 3", "0.3333333333333333"),
    ("/", "'a' = 'a' and 'a' != 'b'", "true"),
    ("/", "'1' < '10' or false()", "true"),
    ("/", "'a' < 'b'", "false"),
    ("/", "1 = '1.0'", "true"),
    ("/", "'1' = '1.0'", "false"),
    ("/", "true() = 'x'", "true"),
    ("/", "true() > 0", "true"),
    ("/", "/garage/none = false()", "true"),
    ("/", "/garage/name = true()", "true"),
    ("/", "/garage/phone = '2'", "true"),
    ("/", "/garage/phone != '2'", "true"),
    ("/", "not(/garage/phone = '9')", "true"),
    ("/", "/garage/phone > 2", "true"),
    ("/", "3 < /garage/phone", "false"),
    ("/", "/garage/person/id = /garage/car/owner", "true"),
    ("/", "/garage/person/id > /garage/car/owner", "false"),
    ("/", "/garage/person/id < /garage/car/owner", "true"),
    ("/", "/garage/none = /garage/none", "false"),
    ("/", "/garage/opened = '01999'", "true"),
    ("/", "/garage/opened != '01999'", "false"),
    ("/", "/garage/yard/size = '10.50'", "true"),
    ("/", "/garage/yard/size = 10.5", "true"),
    ("/", "/garage/yard/size - 0.5", "10"),
    (CAR, "options = 'radio   hook'", "true"),
    (CAR, "kind = 'winter-wheel'", "true"),
    (CAR, "kind = 'g:winter-wheel'", "true"),
    (CAR, "kind = 'garage:winter-wheel'", "true"),
    (CAR, "kind = 't:winter-wheel'", "false"),
    (
        "/garage/car[2]",
        "kind = 't:axle' and kind != 'axle'",
        "true",
    ),
    ("/", "count(/garage/car[kind = 't:axle'])", "1"),
    (
        "/garage/person[1]",
        "best = \"/g:garage/g:car[g:plate='A 1']/g:wheel[g:row='1'][g:side='r']\"",
        "true",
    ),
];

#[test]
fn operators_compute_and_compare() {
    check(OPERATORS_COMPUTE_AND_COMPARE);
}

const FUNCTIONS_OF_XPATH: &[Case] = &[
    ("/", "last() + position()", "2"),
    ("/", "count(/garage/car)", "3"),
    ("/", "count(/garage/car/wheel)", "3"),
    ("/", "count(/garage/phone) + count(/garage/day)", "5"),
    (CAR, "count(../car) <= 3", "true"),
    ("/", "id('x')", ""),
    ("/", "lang('en')", "false"),
    (CAR, "local-name()", "'car'"),
    (CAR, "name(t:trailer)", "'trailer:trailer'"),
    ("/", "name()", "''"),
    ("/", "namespace-uri(/garage/t:name)", "'urn:trailer'"),
    ("/", "local-name(/garage/car | /garage/name)", "'name'"),
    ("/", "string(/garage/car/doors)", "'4'"),
    ("/garage/name", "string()", "'Ada'"),
    ("/garage/person[2]", "string()", "'10Cy201'"),
    ("/", "string(/garage/none)", "''"),
    ("/", "string(0.5)", "'0.5'"),
    ("/", "string(-0)", "'0'"),
    ("/", "string(1 = 1)", "'true'"),
    ("/", "concat('a', 1, /garage/name)", "'a1Ada'"),
    (
        "/",
        "starts-with('abc', 'ab') and starts-with('a', '')",
        "true",
    ),
    (
        "/",
        "contains('abc', 'bc') and not(contains('abc', 'd'))",
        "true",
    ),
    ("/", "substring-before('1999/04/01', '/')", "'1999'"),
    ("/", "substring-after('1999/04/01', '/')", "'04/01'"),
    ("/", "substring-after('abc', '')", "'abc'"),
    ("/", "substring-before('abc', 'x')", "''"),
    ("/", "substring('12345', 2, 3)", "'234'"),
    ("/", "substring('12345', 2)", "'2345'"),
    ("/", "substring('12345', 1.5, 2.6)", "'234'"),
    ("/", "substring('12345', 0, 3)", "'12'"),
    ("/", "substring('12345', 0 div 0, 3)", "''"),
    ("/", "substring('12345', 1, 0 div 0)", "''"),
    ("/", "substring('12345', -42, 1 div 0)", "'12345'"),
    ("/", "substring('12345', -1 div 0, 1 div 0)", "''"),
    ("/", "substring('äöü', 2, 1)", "'ö'"),
    ("/", "string-length('Zoë')", "3"),
    ("/garage/name", "string-length()", "3"),
    ("/garage/person[1]/name", "normalize-space()", "'Bo Li'"),
    ("/", "translate('bar', 'abc', 'AB')", "'BAr'"),
    ("/", "translate('--aaa--', 'abc-', 'ABC')", "'AAA'"),
    (
        "/",
        "boolean('') or boolean(0) or boolean(/garage/none)",
        "false",
    ),
    (
        "/",
        "boolean('false') and boolean(-1) and boolean(/garage)",
        "true",
    ),
    ("/", "number(' -12.50 ')", "-12.5"),
    ("/", "number('1e3')", "NaN"),
    ("/", "number('+1')", "NaN"),
    ("/", "number('.5') + number('5.')", "5.5"),
    ("/", "number('')", "NaN"),
    ("/", "number(true())", "1"),
    ("/garage/opened", "number()", "1999"),
    ("/", "sum(/garage/phone)", "6"),
    ("/", "sum(/garage/none)", "0"),
    ("/", "sum(/garage/name)", "NaN"),
    ("/", "floor(-1.5)", "-2"),
    ("/", "ceiling(-1.5)", "-1"),
    ("/", "round(2.5) + round(-2.5)", "1"),
    ("/", "round(0 div 0)", "NaN"),
    ("/", "1 div round(-0.4)", "-Infinity"),
];

#[test]
fn functions_of_xpath() {
    check(FUNCTIONS_OF_XPATH);
}

const FUNCTIONS_OF_YANG: &[Case] = &[
    (CAR, "current()", "~/car[plate='A 1']"),
    (CAR, "re-match(plate, '[A-Z] \\d')", "true"),
    (CAR, "re-match(plate, '[A-Z]')", "false"),
    (CAR, "deref(owner)", "~/person[id='20']/id=20"),
    (
        CAR,
        "deref(owner)/../name",
        "~/person[id='20']/name= Bo  Li ",
    ),
    (
        CAR,
        "deref(deref(owner)/../knows)/../name",
        "~/person[id='10']/name=Cy",
    ),
    ("/garage/car[2]", "deref(owner)", ""),
    (CAR, "deref(plate)", ""),
    (
        "/garage/person[1]",
        "deref(best)/pressure",
        "~/car[plate='A 1']/wheel[side='r'][row='1']/pressure=31",
    ),
    ("/garage/person[2]", "deref(first-phone)", "~/phone=1"),
    (CAR, "derived-from(kind, 'g:wheel')", "true"),
    (CAR, "derived-from(kind, 'wheel')", "true"),
    (CAR, "derived-from(kind, 'winter-wheel')", "false"),
    (CAR, "derived-from-or-self(kind, 'winter-wheel')", "true"),
    (CAR, "derived-from(kind, 'motor')", "false"),
    (CAR, "derived-from(kind, 'nothing')", "false"),
    ("/", "derived-from(/garage/car/kind, 'g:part')", "true"),
    (
        "/",
        "derived-from-or-self(/garage/car/kind, 't:axle')",
        "true",
    ),
    ("/", "derived-from-or-self(/garage/name, 'g:part')", "false"),
    (CAR, "enum-value(colour)", "8"),
    (CAR, "enum-value(plate)", "NaN"),
    ("/", "enum-value(/garage/car/colour) > 5", "true"),
    (CAR, "bit-is-set(options, 'radio')", "true"),
    (CAR, "bit-is-set(options, 'roof')", "false"),
    (CAR, "bit-is-set(plate, 'A')", "false"),
];

#[test]
fn functions_of_yang() {
    check(FUNCTIONS_OF_YANG);
}

#[test]
fn expressions_without_a_value_are_errors() {
    let schema = schema();
    let tree = tree(&schema, DATA);
    let data = TreeInstances::new(&schema, &tree);
    for text in [
        "count('x')",
        "$x + 1",
        "'a' | /garage",
        "('a')/b",
        "sum(1)",
        "name(1)",
        "deref('x')",
        "derived-from(1, 'part')",
        "re-match('a', concat('[', '['))",
    ] {
        let found = evaluated(&data, "/garage", text);
        assert!(found.is_err(), "{text}: {found:?}");
    }
}

const KEYS_AND_PATHS_THAT_ARE_COMPUTED: &[Case] = &[
    (
        "/",
        "/garage/car[plate = concat('A', ' 1')]/doors",
        "~/car[plate='A 1']/doors=4",
    ),
    (
        "/",
        "/garage/car[plate = translate('a 1', 'a', 'A')]/doors",
        "~/car[plate='A 1']/doors=4",
    ),
    (
        "/",
        "/garage/person[id = (2 * 5)]/id",
        "~/person[id='10']/id=10",
    ),
    (
        "/",
        "/garage/person[id = -(-10)]/id",
        "~/person[id='10']/id=10",
    ),
    (
        "/",
        "/garage/person[id = count(/garage/car) + 7]/id",
        "~/person[id='10']/id=10",
    ),
    (
        "/",
        "/garage/person[id = ../car/owner]/id",
        "~/person[id='20']/id=20",
    ),
    (
        "/",
        "/garage/person[knows = ../person[2]/id]/id",
        "~/person[id='20']/id=20",
    ),
    (
        "/",
        "/garage/car/wheel[row = string-length(side)]/side",
        "~/car[plate='A 1']/wheel[side='l'][row='1']/side=l ~/car[plate='A 1']/wheel[side='r'][row='1']/side=r",
    ),
    (
        "/",
        "/garage/car/wheel[side = 'l'][row = ../wheel[2]/row]/side",
        "~/car[plate='A 1']/wheel[side='l'][row='1']/side=l",
    ),
    (
        "/",
        "/garage/car[wheel[side = 'r'] | tag]/plate",
        "~/car[plate='A 1']/plate=A 1",
    ),
    (
        "/",
        "/garage/car[tag[../colour = 'blue'] | wheel]/plate",
        "~/car[plate='A 1']/plate=A 1 ~/car[plate='B 2']/plate=B 2",
    ),
    (
        "/",
        "/garage/car[ \n plate = 'A 1' ]\t/ plate",
        "~/car[plate='A 1']/plate=A 1",
    ),
    ("/", "/garage/name[.]", "~/name=Ada"),
    ("/", "/garage/name[. = 'Ada'][text() = 'Ada']", "~/name=Ada"),
    ("/", "count(//.) = count(//node()) + 1", "true"),
    (
        "/",
        "/child::garage//doors/..",
        "~/car[plate='A 1'] ~/car[plate='B 2'] ~/car[plate='C 3']",
    ),
    ("/", "/child::garage//doors/../..", "~"),
    ("/", "/descendant::garage/descendant::shelf/..", "~/office"),
    ("/", "/descendant-or-self::node()/shelf", "~/office/shelf"),
    (
        "/",
        "//wheel[side and row]/side/ancestor::car",
        "~/car[plate='A 1'] ~/car[plate='B 2']",
    ),
    (
        "/",
        "/garage/self::garage/car/tag/self::tag",
        "~/car[plate='A 1']/tag=x ~/car[plate='A 1']/tag=y",
    ),
    ("/", "/*/car/parent::garage", "~"),
    ("/", "/g:*/g:office", "~/office"),
    ("/", "/garage/t:*", "~/name=other"),
    (
        "/",
        "//t:*/../../plate",
        "~/car[plate='A 1']/plate=A 1 ~/car[plate='C 3']/plate=C 3",
    ),
    (
        "/",
        "//car[2]/following-sibling::*[1] | //car[1]",
        "~/car[plate='A 1'] ~/car[plate='C 3']",
    ),
    (
        "/",
        "(//pressure | //row)[last()]",
        "~/car[plate='B 2']/wheel[side='l'][row='2']/row=2",
    ),
    ("/", "string(//row/../../plate | //person/id)", "'A 1'"),
    (
        "/",
        "/garage/car[not(doors = ../car/doors[. != current()/none])]",
        "~/car[plate='A 1'] ~/car[plate='B 2'] ~/car[plate='C 3']",
    ),
    (CAR, "count(. | .. | ../.. | /)", "3"),
    (CAR, "../car[plate > 0]", ""),
    (CAR, "../person[id >= 20]/id", "~/person[id='20']/id=20"),
    (CAR, "../person[10 < id]/id", "~/person[id='20']/id=20"),
];

#[test]
fn keys_and_paths_that_are_computed() {
    check(KEYS_AND_PATHS_THAT_ARE_COMPUTED);
}
