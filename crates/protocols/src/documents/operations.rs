//! Everything that can be asked: the router and the OpenAPI description are made of this table.

use http::Method;

use super::service::DocumentsService;
use super::{collections, exchange, indexes, items, several};
use crate::api::{Content, Operation as OperationOf, of};

type Operation = OperationOf<DocumentsService>;

const COLLECTIONS: &str = "/documents";
const COLLECTION: &str = "/documents/{collection}";
const ITEMS: &str = "/documents/{collection}/items";
const ITEM: &str = "/documents/{collection}/items/{key}";
const INDEX: &str = "/documents/{collection}/indexes/{index}";
const EXPORT: &str = "/documents/{collection}/export";
const IMPORT: &str = "/documents/{collection}/import";
const CHECK: &str = "/documents/{collection}/check";
const REPAIR: &str = "/documents/{collection}/repair";

const LIST: &[(&str, &str)] = &[
    ("limit", "the most documents of the page, 1 to 10000 [100]"),
    ("cursor", "`next` of the page before"),
    ("offset", "how many are passed over"),
    ("order", "asc or desc"),
    ("index", "find by the values of this index, instead of all"),
    (
        "value",
        "what has this value: JSON where it is some, else a string; of a compound index a JSON array, whose beginning is enough",
    ),
    ("from", "what has this value or a larger one"),
    ("after", "what has a larger value"),
    ("to", "what has this value or a smaller one"),
    ("before", "what has a smaller value"),
    ("all", "what has all of these values; given several times"),
    ("any", "what has any of these values; given several times"),
];

const PAGE: &[(&str, &str)] = &[
    ("limit", "the most values of the page, 1 to 10000 [100]"),
    ("cursor", "`next` of the page before"),
];

const FOUND: &[(&str, &str)] = &[("index", "the index"), ("value", "the value")];

/// All operations.
pub(super) fn all() -> Vec<Operation> {
    let mut all = of_collections();
    all.extend(of_items());
    all.extend(of_indexes());
    all
}

fn of_collections() -> Vec<Operation> {
    use Content::{Lines, Nothing, Schema};
    vec![
        of(Method::GET, COLLECTIONS, "listCollections", "The collections", collections::list)
            .gives(&[(200, Schema("Collections"))]),
        of(Method::POST, COLLECTIONS, "transaction", "Several changes, of one collection or of several, in one atomic commit", several::transaction)
            .takes(Schema("Transaction"))
            .gives(&[(200, Schema("Keys"))]),
        of(Method::GET, COLLECTION, "getCollection", "What a collection has: policy, indexes, how many documents", collections::get)
            .gives(&[(200, Schema("Collection"))]),
        of(Method::PUT, COLLECTION, "putCollection", "Make a collection, or give it these indexes: new ones are built, the others are dropped", collections::put)
            .takes(Schema("Definition"))
            .gives(&[(200, Schema("Collection")), (201, Schema("Collection"))]),
        of(Method::DELETE, COLLECTION, "deleteCollection", "Remove a collection with all its documents", collections::delete)
            .gives(&[(204, Nothing)]),
        of(Method::GET, EXPORT, "export", "All documents as JSON lines", exchange::export)
            .gives(&[(200, Lines)]),
        of(Method::POST, IMPORT, "import", "Store the documents of JSON lines; an error names the line", exchange::import)
            .takes(Lines)
            .gives(&[(200, Schema("Imported"))]),
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
            .gives(&[(200, Schema("Page")), (304, Nothing)]),
        of(Method::POST, ITEMS, "insertDocument", "Add a document under the next key", items::post)
            .takes(Schema("Document"))
            .gives(&[(201, Schema("Key"))]),
        of(Method::DELETE, ITEMS, "deleteDocuments", "Delete the documents that have a value of an index", items::delete_found)
            .query(FOUND)
            .gives(&[(200, Schema("Deleted"))]),
        of(Method::GET, ITEM, "getDocument", "A document", items::get)
            .gives(&[(200, Schema("Document")), (304, Nothing)]),
        of(Method::PUT, ITEM, "putDocument", "Set the document of a key; with `If-None-Match: *` only where there is none, with `If-Match` only where it is still so", items::put)
            .takes(Schema("Document"))
            .gives(&[(201, Nothing), (204, Nothing)]),
        of(Method::PATCH, ITEM, "patchDocument", "Change a document as a JSON Merge Patch (RFC 7396) says", items::patch)
            .takes(Patch)
            .gives(&[(200, Schema("Document"))]),
        of(Method::DELETE, ITEM, "deleteDocument", "Delete a document", items::delete)
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
        .takes(Schema("Document"))
        .gives(&[(200, Schema("Key"))]),
    ]
}
