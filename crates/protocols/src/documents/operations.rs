//! The table of all operations: the router and the OpenAPI description are built from it.

use http::Method;

use super::limits::PAGE_MAX;
use super::service::DocumentsService;
use super::{collections, feed, import_export, indexes, items, transaction};
use crate::api::{Content, Operation as OperationOf, Parameter, ParameterType, operation};

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
    .of_type(ParameterType::Integer(1, PAGE_MAX as u64));

const CURSOR: Parameter = Parameter::new(
    "cursor",
    "`next` of the previous page, with the other parameters unchanged",
);

const LIST_PARAMETERS: &[Parameter] = &[
    LIMIT,
    CURSOR,
    Parameter::new("offset", "number of documents to skip; not with cursor")
        .of_type(ParameterType::Integer(0, u64::MAX)),
    Parameter::new(
        "order",
        "the order of keys, or of values if an index is given [asc]",
    )
    .of_type(ParameterType::OneOf(&["asc", "desc"])),
    Parameter::new(
        "index",
        "find by the values of this index, instead of all documents",
    ),
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
    .of_type(ParameterType::TextList),
    Parameter::new(
        "any",
        "documents with any of these values, in key order; repeatable",
    )
    .of_type(ParameterType::TextList),
];

const FEED_PARAMETERS: &[Parameter] = &[Parameter::new(
    "after",
    "changes after this version, the `id` of an event; `Last-Event-ID` takes precedence [now]",
)
.of_type(ParameterType::Integer(0, u64::MAX))];

const PAGE_PARAMETERS: &[Parameter] = &[LIMIT, CURSOR];

const INDEX_AND_VALUE: &[Parameter] = &[
    Parameter::new("index", "the index").required(),
    Parameter::new("value", "the value").required(),
];

/// The headers of a document response.
const ETAG_HEADER: &[&str] = &["ETag"];

/// Returns all operations.
pub(super) fn all() -> Vec<Operation> {
    let mut all = collection_operations();
    all.extend(item_operations());
    all.extend(index_operations());
    all
}

fn collection_operations() -> Vec<Operation> {
    use Content::{Events, Lines, Nothing, Schema};
    vec![
        operation(Method::GET, COLLECTIONS, "listCollections", "List the collections", collections::list)
            .responses(&[(200, Schema("Collections"))]),
        operation(Method::POST, COLLECTIONS, "transaction", "Make several changes, in one or more collections, in one atomic commit", transaction::transaction)
            .request_body(Schema("Transaction"))
            .responses(&[(200, Schema("Keys"))]),
        operation(Method::GET, COLLECTION, "getCollection", "Read a collection's policy, indexes and number of documents", collections::get)
            .responses(&[(200, Schema("Collection"))]),
        operation(Method::PUT, COLLECTION, "putCollection", "Create a collection, or set its indexes: new ones are built, others are dropped. Without `indexes`, the existing ones are kept", collections::put)
            .request_body(Schema("Definition"))
            .responses(&[(200, Schema("Collection")), (201, Schema("Collection"))]),
        operation(Method::DELETE, COLLECTION, "deleteCollection", "Delete a collection with all its documents", collections::delete)
            .responses(&[(204, Nothing)]),
        operation(Method::GET, EXPORT, "export", "Export all documents as JSON lines", import_export::export)
            .responses(&[(200, Lines)]),
        operation(Method::POST, IMPORT, "import", "Import documents from JSON lines; an error names the line", import_export::import)
            .request_body(Lines)
            .responses(&[(200, Schema("Imported"))]),
        operation(Method::GET, CHANGES, "watch", "Stream the changes of a collection as server-sent events: `begin` has the version after which the feed starts, `commit` has the new state of each changed document (or `deleted`), `gap` means that changes were lost (read the collection again), `removed` means that the collection was deleted", feed::get)
            .query(FEED_PARAMETERS)
            .responses(&[(200, Events("Change"))]),
        operation(Method::GET, CHECK, "check", "Check that documents, indexes and counters are consistent", collections::check)
            .responses(&[(200, Schema("Findings"))]),
        operation(Method::POST, REPAIR, "repair", "Repair indexes and counters that do not match the documents", collections::repair)
            .responses(&[(200, Schema("Repaired"))]),
    ]
}

fn item_operations() -> Vec<Operation> {
    use Content::{Nothing, Patch, Schema};
    vec![
        operation(Method::GET, ITEMS, "listDocuments", "List documents in key order, or find them by an index, page by page", items::list)
            .query(LIST_PARAMETERS)
            .conditional()
            .response_headers(&["ETag", "Link"])
            .responses(&[(200, Schema("Page")), (304, Nothing)]),
        operation(Method::POST, ITEMS, "insertDocument", "Add a document under the next key", items::post)
            .response_headers(ETAG_HEADER)
            .request_body(Schema("Document"))
            .responses(&[(201, Schema("Key"))]),
        operation(Method::DELETE, ITEMS, "deleteDocuments", "Delete the documents that have a value of an index", items::delete_found)
            .query(INDEX_AND_VALUE)
            .responses(&[(200, Schema("Deleted"))]),
        operation(Method::GET, ITEM, "getDocument", "Read a document", items::get)
            .conditional()
            .response_headers(ETAG_HEADER)
            .responses(&[(200, Schema("Document")), (304, Nothing)]),
        operation(Method::PUT, ITEM, "putDocument", "Set the document of a key; with `If-None-Match: *` only if it does not exist, with `If-Match` only if it is unchanged", items::put)
            .conditional()
            .response_headers(ETAG_HEADER)
            .request_body(Schema("Document"))
            .responses(&[(201, Nothing), (204, Nothing)]),
        operation(Method::PATCH, ITEM, "patchDocument", "Apply a JSON Merge Patch (RFC 7396) to a document", items::patch)
            .conditional()
            .response_headers(ETAG_HEADER)
            .request_body(Patch("Document"))
            .responses(&[(200, Schema("Document"))]),
        operation(Method::DELETE, ITEM, "deleteDocument", "Delete a document", items::delete)
            .conditional()
            .responses(&[(204, Nothing)]),
    ]
}

fn index_operations() -> Vec<Operation> {
    use Content::Schema;
    vec![
        operation(
            Method::GET,
            INDEX,
            "listValues",
            "List the values of an index in order, with the number of documents of each",
            indexes::values,
        )
        .query(PAGE_PARAMETERS)
        .responses(&[(200, Schema("Values"))]),
        operation(
            Method::PUT,
            INDEX,
            "upsertDocument",
            "Replace the document that has the same value of this unique index, or add it",
            indexes::upsert,
        )
        .response_headers(&["ETag", "Location"])
        .request_body(Schema("Document"))
        .responses(&[(200, Schema("Key"))]),
    ]
}
