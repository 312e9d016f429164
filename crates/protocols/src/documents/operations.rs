//! The table of all operations: the router and the OpenAPI description are built from it.

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

const LIMIT: Parameter = Parameter::new("limit", "maximum page size [100]")
    .holds(Holds::Number(1, PAGE_MAX as u64));

const CURSOR: Parameter = Parameter::new(
    "cursor",
    "`next` of the previous page, with the other parameters unchanged",
);

const LIST: &[Parameter] = &[
    LIMIT,
    CURSOR,
    Parameter::new("offset", "number of documents to skip; not with cursor")
        .holds(Holds::Number(0, u64::MAX)),
    Parameter::new(
        "order",
        "the order of keys, or of values if an index is given [asc]",
    )
    .holds(Holds::OneOf(&["asc", "desc"])),
    Parameter::new("index", "find by the values of this index, instead of all documents"),
    Parameter::new(
        "value",
        "documents with this value: JSON if it parses as JSON, otherwise a string; for a compound index a JSON array, possibly only its first values",
    ),
    Parameter::new("from", "documents with this value or a larger one"),
    Parameter::new("after", "documents with a larger value"),
    Parameter::new("to", "documents with this value or a smaller one"),
    Parameter::new("before", "documents with a smaller value"),
    Parameter::new(
        "all",
        "documents with all of these values, in key order; repeatable",
    )
    .holds(Holds::Several),
    Parameter::new(
        "any",
        "documents with any of these values, in key order; repeatable",
    )
    .holds(Holds::Several),
];

const AFTER: &[Parameter] = &[Parameter::new(
    "after",
    "changes after this version, the `id` of an event; `Last-Event-ID` takes precedence [now]",
)
.holds(Holds::Number(0, u64::MAX))];

const PAGE: &[Parameter] = &[LIMIT, CURSOR];

const FOUND: &[Parameter] = &[
    Parameter::new("index", "the index").required(),
    Parameter::new("value", "the value").required(),
];

/// The headers of a document response.
const TAGGED: &[&str] = &["ETag"];

/// Returns all operations.
pub(super) fn all() -> Vec<Operation> {
    let mut all = of_collections();
    all.extend(of_items());
    all.extend(of_indexes());
    all
}

fn of_collections() -> Vec<Operation> {
    use Content::{Events, Lines, Nothing, Schema};
    vec![
        of(Method::GET, COLLECTIONS, "listCollections", "List the collections", collections::list)
            .gives(&[(200, Schema("Collections"))]),
        of(Method::POST, COLLECTIONS, "transaction", "Make several changes, in one or more collections, in one atomic commit", several::transaction)
            .takes(Schema("Transaction"))
            .gives(&[(200, Schema("Keys"))]),
        of(Method::GET, COLLECTION, "getCollection", "Read a collection's policy, indexes and number of documents", collections::get)
            .gives(&[(200, Schema("Collection"))]),
        of(Method::PUT, COLLECTION, "putCollection", "Create a collection, or set its indexes: new ones are built, others are dropped. Without `indexes`, the existing ones are kept", collections::put)
            .takes(Schema("Definition"))
            .gives(&[(200, Schema("Collection")), (201, Schema("Collection"))]),
        of(Method::DELETE, COLLECTION, "deleteCollection", "Delete a collection with all its documents", collections::delete)
            .gives(&[(204, Nothing)]),
        of(Method::GET, EXPORT, "export", "Export all documents as JSON lines", exchange::export)
            .gives(&[(200, Lines)]),
        of(Method::POST, IMPORT, "import", "Import documents from JSON lines; an error names the line", exchange::import)
            .takes(Lines)
            .gives(&[(200, Schema("Imported"))]),
        of(Method::GET, CHANGES, "watch", "Stream the changes of a collection as server-sent events: `begin` has the version after which the feed starts, `commit` has the new state of each changed document (or `deleted`), `gap` means that changes were lost (read the collection again), `removed` means that the collection was deleted", feed::get)
            .query(AFTER)
            .gives(&[(200, Events("Change"))]),
        of(Method::GET, CHECK, "check", "Check that documents, indexes and counters are consistent", collections::check)
            .gives(&[(200, Schema("Findings"))]),
        of(Method::POST, REPAIR, "repair", "Repair indexes and counters that do not match the documents", collections::repair)
            .gives(&[(200, Schema("Repaired"))]),
    ]
}

fn of_items() -> Vec<Operation> {
    use Content::{Nothing, Patch, Schema};
    vec![
        of(Method::GET, ITEMS, "listDocuments", "List documents in key order, or find them by an index, page by page", items::list)
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
        of(Method::GET, ITEM, "getDocument", "Read a document", items::get)
            .conditional()
            .tells(TAGGED)
            .gives(&[(200, Schema("Document")), (304, Nothing)]),
        of(Method::PUT, ITEM, "putDocument", "Set the document of a key; with `If-None-Match: *` only if it does not exist, with `If-Match` only if it is unchanged", items::put)
            .conditional()
            .tells(TAGGED)
            .takes(Schema("Document"))
            .gives(&[(201, Nothing), (204, Nothing)]),
        of(Method::PATCH, ITEM, "patchDocument", "Apply a JSON Merge Patch (RFC 7396) to a document", items::patch)
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
            "List the values of an index in order, with the number of documents of each",
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
