//! Everything that can be asked: the router and the OpenAPI description are made of this table.

use http::Method;

use super::limits::PAGE_MAX;
use super::service::DocumentsService;
use super::{collections, exchange, feed, indexes, items, several};
use crate::api::{Content, Holds, Operation as OperationOf, Parameter, of};

type Operation = OperationOf<DocumentsService>;

const COLLECTIONS: &str = "/documents";
const COLLECTION: &str = "/documents/{collection}";
const ITEMS: &str = "/documents/{collection}/items";
const ITEM: &str = "/documents/{collection}/items/{key}";
const INDEX: &str = "/documents/{collection}/indexes/{index}";
const EXPORT: &str = "/documents/{collection}/export";
const IMPORT: &str = "/documents/{collection}/import";
const CHANGES: &str = "/documents/{collection}/changes";
const CHECK: &str = "/documents/{collection}/check";
const REPAIR: &str = "/documents/{collection}/repair";

const LIMIT: Parameter = Parameter::new("limit", "the most that the page has [100]")
    .holds(Holds::Number(1, PAGE_MAX as u64));

const CURSOR: Parameter = Parameter::new(
    "cursor",
    "`next` of the page before, with the other parameters as they were",
);

const LIST: &[Parameter] = &[
    LIMIT,
    CURSOR,
    Parameter::new("offset", "how many are passed over; not with cursor")
        .holds(Holds::Number(0, u64::MAX)),
    Parameter::new(
        "order",
        "by keys, or by values where there is an index [asc]",
    )
    .holds(Holds::OneOf(&["asc", "desc"])),
    Parameter::new("index", "find by the values of this index, instead of all"),
    Parameter::new(
        "value",
        "what has this value: JSON where it is some, else a string; of a compound index a JSON array, whose beginning is enough",
    ),
    Parameter::new("from", "what has this value or a larger one"),
    Parameter::new("after", "what has a larger value"),
    Parameter::new("to", "what has this value or a smaller one"),
    Parameter::new("before", "what has a smaller value"),
    Parameter::new(
        "all",
        "what has all of these values, by keys; given several times",
    )
    .holds(Holds::Several),
    Parameter::new(
        "any",
        "what has any of these values, by keys; given several times",
    )
    .holds(Holds::Several),
];

const AFTER: &[Parameter] = &[Parameter::new(
    "after",
    "those after this version, the `id` of an event; `Last-Event-ID` counts before it [now]",
)
.holds(Holds::Number(0, u64::MAX))];

const PAGE: &[Parameter] = &[LIMIT, CURSOR];

const FOUND: &[Parameter] = &[
    Parameter::new("index", "the index").required(),
    Parameter::new("value", "the value").required(),
];

/// The headers of a document.
const TAGGED: &[&str] = &["ETag"];

/// All operations.
pub(super) fn all() -> Vec<Operation> {
    let mut all = of_collections();
    all.extend(of_items());
    all.extend(of_indexes());
    all
}

fn of_collections() -> Vec<Operation> {
    use Content::{Events, Lines, Nothing, Schema};
    vec![
        of(Method::GET, COLLECTIONS, "listCollections", "The collections", collections::list)
            .gives(&[(200, Schema("Collections"))]),
        of(Method::POST, COLLECTIONS, "transaction", "Several changes, of one collection or of several, in one atomic commit", several::transaction)
            .takes(Schema("Transaction"))
            .gives(&[(200, Schema("Keys"))]),
        of(Method::GET, COLLECTION, "getCollection", "What a collection has: policy, indexes, how many documents", collections::get)
            .gives(&[(200, Schema("Collection"))]),
        of(Method::PUT, COLLECTION, "putCollection", "Make a collection, or give it these indexes: new ones are built, the others are dropped. Without indexes, those there are stay", collections::put)
            .takes(Schema("Definition"))
            .gives(&[(200, Schema("Collection")), (201, Schema("Collection"))]),
        of(Method::DELETE, COLLECTION, "deleteCollection", "Remove a collection with all its documents", collections::delete)
            .gives(&[(204, Nothing)]),
        of(Method::GET, EXPORT, "export", "All documents as JSON lines", exchange::export)
            .gives(&[(200, Lines)]),
        of(Method::POST, IMPORT, "import", "Store the documents of JSON lines; an error names the line", exchange::import)
            .takes(Lines)
            .gives(&[(200, Schema("Imported"))]),
        of(Method::GET, CHANGES, "watch", "The changes of a collection as they happen, as server-sent events: `begin` says after which version, `commit` has what became of each document that a commit changed (or that it was `deleted`), `gap` that there were changes that cannot be told (read the collection again), `removed` that it is gone", feed::get)
            .query(AFTER)
            .gives(&[(200, Events("Change"))]),
        of(Method::GET, CHECK, "check", "Whether documents, indexes and counters fit together", collections::check)
            .gives(&[(200, Schema("Findings"))]),
        of(Method::POST, REPAIR, "repair", "Make indexes and counters fit the documents", collections::repair)
            .gives(&[(200, Schema("Repaired"))]),
    ]
}

fn of_items() -> Vec<Operation> {
    use Content::{Nothing, Patch, Schema};
    vec![
        of(Method::GET, ITEMS, "listDocuments", "Documents in the order of keys, or found by an index, page by page", items::list)
            .query(LIST)
            .conditional()
            .tells(&["ETag", "Link"])
            .gives(&[(200, Schema("Page")), (304, Nothing)]),
        of(Method::POST, ITEMS, "insertDocument", "Add a document under the next key", items::post)
            .tells(TAGGED)
            .takes(Schema("Document"))
            .gives(&[(201, Schema("Key"))]),
        of(Method::DELETE, ITEMS, "deleteDocuments", "Delete the documents that have a value of an index", items::delete_found)
            .query(FOUND)
            .gives(&[(200, Schema("Deleted"))]),
        of(Method::GET, ITEM, "getDocument", "A document", items::get)
            .conditional()
            .tells(TAGGED)
            .gives(&[(200, Schema("Document")), (304, Nothing)]),
        of(Method::PUT, ITEM, "putDocument", "Set the document of a key; with `If-None-Match: *` only where there is none, with `If-Match` only where it is still so", items::put)
            .conditional()
            .tells(TAGGED)
            .takes(Schema("Document"))
            .gives(&[(201, Nothing), (204, Nothing)]),
        of(Method::PATCH, ITEM, "patchDocument", "Change a document as a JSON Merge Patch (RFC 7396) says", items::patch)
            .conditional()
            .tells(TAGGED)
            .takes(Patch("Document"))
            .gives(&[(200, Schema("Document"))]),
        of(Method::DELETE, ITEM, "deleteDocument", "Delete a document", items::delete)
            .conditional()
            .gives(&[(204, Nothing)]),
    ]
}

fn of_indexes() -> Vec<Operation> {
    use Content::Schema;
    vec![
        of(
            Method::GET,
            INDEX,
            "listValues",
            "The values of an index in order, and how many documents have each",
            indexes::values,
        )
        .query(PAGE)
        .gives(&[(200, Schema("Values"))]),
        of(
            Method::PUT,
            INDEX,
            "upsertDocument",
            "Replace the document that has the same value of this unique index, or add it",
            indexes::upsert,
        )
        .tells(&["ETag", "Location"])
        .takes(Schema("Document"))
        .gives(&[(200, Schema("Key"))]),
    ]
}
