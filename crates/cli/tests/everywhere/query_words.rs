//! Wrong words in the queries of the routes in addition to RESTCONF, which the command line cannot send.

use serde_json::Value as Json;

use crate::library::new_store;

#[test]
fn unknown_words_are_invalid_value() {
    let sandbox = new_store();
    let server = sandbox.serve(&["--store", "embedded:store"]);
    let at = "/espalier/at?version=0&path=/";
    let table = [
        ("GET", format!("{at}&content=state"), None),
        ("GET", format!("{at}&with-defaults=all"), None),
        ("GET", format!("{at}&depth=0"), None),
        ("GET", format!("{at}&with-origin=true"), None),
        ("GET", format!("{at}&other=1"), None),
        ("GET", format!("{at}&limit=1"), None),
        (
            "POST",
            "/espalier/edit?test-option=never".to_owned(),
            Some("{}"),
        ),
        (
            "POST",
            "/espalier/edit?default-operation=delete".to_owned(),
            Some("{}"),
        ),
        (
            "POST",
            "/espalier/edit?datastore=nowhere".to_owned(),
            Some("{}"),
        ),
    ];
    for (method, path, body) in table {
        let answer = server.request(method, &path, body);
        let printed: Json = serde_json::from_str(&answer.body).expect("JSON");
        let error = &printed["ietf-restconf:errors"]["error"][0];
        let found = (
            answer.status,
            error["error-tag"].as_str(),
            error["error-type"].as_str(),
        );
        let expected = (400, Some("invalid-value"), Some("protocol"));
        assert_eq!(found, expected, "{method} {path}: {answer:?}");
    }
}
