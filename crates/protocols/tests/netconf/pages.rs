//! Pages of lists (draft-ietf-netconf-list-pagination-nc).

use crate::support::{Client, Fixture};

const PAGINATION: &str = "urn:ietf:params:xml:ns:yang:ietf-list-pagination-nc";

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let mut client = fixture.session();
    client.ok(
        "<edit-config><target><running/></target><config><c xmlns=\"urn:m\"><title>t</title><e><k>a</k><v>1</v></e><e><k>b</k>\
         <v>3</v></e><e><k>d</k></e><e><k>f</k><v>2</v></e><tag>x</tag><tag>y</tag><tag>z</tag></c></config></edit-config>",
    );
    drop(client);
    fixture
}

fn operation(name: &str, filter: &str, page: &str) -> String {
    let source = match name {
        "get-config" => "<source><running/></source>",
        "get-data" => {
            "<datastore xmlns:ds=\"urn:ietf:params:xml:ns:yang:ietf-datastores\">ds:operational</datastore>"
        }
        _ => "",
    };
    let page = format!("<list-pagination xmlns=\"{PAGINATION}\">{page}</list-pagination>");
    match name {
        "get-data" => format!(
            "<get-data xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-nmda\">{source}<subtree-filter>{filter}</subtree-filter>{page}</get-data>"
        ),
        name => format!("<{name}>{source}<filter>{filter}</filter>{page}</{name}>"),
    }
}

const E: &str = "<c xmlns='urn:m'><e/></c>";

/// The keys of the entries of a page.
fn keys(client: &mut Client<'_>, operation: &str) -> String {
    let data = client.data(operation);
    assert!(data.matches("<c ").count() <= 1, "{data}");
    let parts = data.split("<k>").skip(1);
    parts
        .map(|part| part.split('<').next().unwrap_or_default())
        .collect()
}

#[test]
fn pages_of_the_list_that_a_filter_selects() {
    let fixture = fixture();
    let mut client = fixture.session();
    for name in ["get", "get-config", "get-data"] {
        for (filter, page, expected) in [
            (E, "<limit>2</limit>", "ab"),
            (E, "<limit>2</limit><offset>1</offset>", "bd"),
            (E, "<direction>backwards</direction>", "fdba"),
            (E, "<sort-by>v</sort-by>", "afbd"),
            (
                E,
                "<sort-by xmlns:x='urn:m'>x:v</sort-by><limit>1</limit>",
                "a",
            ),
            (E, "<where>v > 1</where>", "bf"),
            (E, "<where xmlns:x='urn:m'>x:v > 1</where>", "bf"),
            // The prefix of the module, which is also its name.
            (E, "<where>m:v > 1</where>", "bf"),
            (E, "<where>k = 'd'</where>", "d"),
            (E, "<where>unknown</where>", ""),
            (E, "<offset>4</offset>", ""),
            (
                "<c xmlns='urn:m'><e><k/></e></c>",
                "<limit>3</limit>",
                "abd",
            ),
            (
                "<c xmlns='urn:m'><e><v>3</v></e></c>",
                "<limit>3</limit>",
                "b",
            ),
            (
                "<c xmlns='urn:m'><e><k/><v>2</v></e></c>",
                "<limit>3</limit>",
                "f",
            ),
        ] {
            let page = page.replace("> ", "&gt; ");
            let found = keys(&mut client, &operation(name, filter, &page));
            assert_eq!(found, expected, "{name} {filter} {page}");
        }
    }
    let xpath = "<get-config><source><running/></source><filter type='xpath' xmlns:t='urn:m' select='/t:c/t:e'/>\
                 <list-pagination xmlns='urn:ietf:params:xml:ns:yang:ietf-list-pagination-nc'><limit>1</limit></list-pagination>\
                 </get-config>";
    assert_eq!(keys(&mut client, xpath), "a");
}

#[test]
fn metadata_is_in_attributes() {
    let fixture = fixture();
    let mut client = fixture.session();
    let page = |client: &mut Client<'_>, page: &str| client.data(&operation("get-config", E, page));
    let first = page(&mut client, "<limit>2</limit>");
    let declared = "xmlns:lp=\"urn:ietf:params:xml:ns:yang:ietf-list-pagination\"";
    assert!(
        first.contains("<e lp:remaining=\"unknown\" lp:next=\"") && first.contains(declared),
        "{first}"
    );
    let next = first
        .split("lp:next=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    let next = next.expect("a cursor");
    let second = page(
        &mut client,
        &format!("<cursor>{next}</cursor><limit>2</limit>"),
    );
    assert!(
        second.contains("lp:previous=\"") && !second.contains("lp:next"),
        "{second}"
    );
    assert!(
        second.contains("<k>d</k>") && second.contains("<k>f</k>") && !second.contains("<k>b</k>")
    );
    let tags = operation(
        "get",
        "<c xmlns='urn:m'><tag/></c>",
        "<limit>1</limit><offset>1</offset>",
    );
    let tags = client.data(&tags);
    assert!(
        tags.contains("<tag lp:remaining=\"unknown\"") && tags.contains(">y</tag>"),
        "{tags}"
    );
}

#[test]
fn sublists_are_limited_below_any_filter() {
    let fixture = fixture();
    let mut client = fixture.session();
    let limit = "<sublist-limit>1</sublist-limit>";
    let all = client.data(&operation("get-config", "<c xmlns='urn:m'/>", limit));
    assert_eq!(
        (all.matches("<k>").count(), all.matches("</tag>").count()),
        (1, 1),
        "{all}"
    );
    assert_eq!(all.matches("lp:remaining=\"unknown\"").count(), 2, "{all}");
}

#[test]
fn errors_have_the_tags_of_the_draft() {
    let fixture = fixture();
    let mut client = fixture.session();
    let unsupported = "operation-not-supported";
    for (filter, page, tag, app_tag) in [
        (
            E,
            "<offset>5</offset>",
            "invalid-value",
            "ietf-list-pagination:offset-out-of-range",
        ),
        (
            E,
            "<cursor>x</cursor>",
            "invalid-value",
            "ietf-list-pagination:cursor-not-found",
        ),
        (
            E,
            "<sort-by>v</sort-by><locale>sv_SE</locale>",
            "invalid-value",
            "ietf-list-pagination:locale-unavailable",
        ),
        (E, "<limit>0</limit>", "invalid-value", ""),
        (E, "<where>v &gt;</where>", "invalid-value", ""),
        (E, "<sort-by>unknown</sort-by>", "invalid-value", ""),
        (E, "<locale>C</locale>", "invalid-value", ""),
        (
            E,
            "<offset>1</offset><cursor>x</cursor>",
            "invalid-value",
            "",
        ),
        (E, "<page>1</page>", "unknown-element", ""),
        (E, "<limit xmlns='urn:m'>1</limit>", "unknown-element", ""),
        ("<c xmlns='urn:m'/>", "<limit>1</limit>", unsupported, ""),
        (
            "<c xmlns='urn:m'><e/><tag/></c>",
            "<limit>1</limit>",
            unsupported,
            "",
        ),
        (
            "<c xmlns='urn:m'><title/></c>",
            "<limit>1</limit>",
            unsupported,
            "",
        ),
        ("", "<limit>1</limit>", unsupported, ""),
    ] {
        for name in ["get", "get-config", "get-data"] {
            let error = client.rpc(&operation(name, filter, page));
            assert!(
                error.contains(&format!("<error-tag>{tag}</error-tag>")),
                "{name} {page} {error}"
            );
            let has_app_tag = error.contains("<error-app-tag>");
            assert!(
                has_app_tag != app_tag.is_empty() && error.contains(app_tag),
                "{name} {page} {error}"
            );
        }
    }
}

const LIBRARY: &str =
    "<yang-library xmlns='urn:ietf:params:xml:ns:yang:ietf-yang-library'><module-set>";

#[test]
fn the_modules_are_announced() {
    let fixture = fixture();
    let mut client = fixture.session();
    let module = "<module><name>ietf-list-pagination-nc</name><revision/></module>";
    let filter = format!("<filter>{LIBRARY}{module}</module-set></yang-library></filter>");
    let data = client.data(&format!("<get>{filter}</get>"));
    assert!(data.contains("<revision>2025-04-03</revision>"), "{data}");
}

/// The state of the server has pages.
#[test]
fn state_of_the_server_has_pages() {
    let fixture = fixture();
    let mut client = fixture.session();
    let modules = "<name>server-state</name><module><name/></module>";
    let filter = format!("{LIBRARY}{modules}</module-set></yang-library>");
    let data = client.data(&operation("get", &filter, "<limit>3</limit>"));
    assert_eq!(
        data.matches("<module ").count() + data.matches("<module>").count(),
        3,
        "{data}"
    );
}
