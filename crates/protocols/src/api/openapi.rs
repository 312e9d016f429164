//! The OpenAPI description (3.1), built from the table of operations.

use http::StatusCode;
use serde_json::{Map, Value as Json, json};

use super::operation::{Content, Operation, Parameter, ParameterType};
use super::parsed_request::MERGE_PATCH;
use super::routes::Api;

/// Builds the description.
pub(super) fn description<S>(api: &Api, operations: &[Operation<S>]) -> Json {
    let mut paths = Map::new();
    for operation in operations {
        let entry = paths.entry(operation.path).or_insert_with(|| json!({}));
        entry[operation.method.as_str().to_lowercase()] = described(operation);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": api.title,
            "version": env!("CARGO_PKG_VERSION"),
            "description": api.description,
        },
        "paths": paths,
        "components": {"schemas": schemas(api)},
    })
}

/// The schemas of an API, and the schema of problem documents.
fn schemas(api: &Api) -> Json {
    let (text, number) = (
        json!({"type": "string"}),
        json!({"type": "integer", "minimum": 0}),
    );
    let mut schemas = api.schemas.clone();
    schemas["Problem"] = object(
        json!({
            "type": text, "title": text, "status": number, "detail": text, "kind": text,
            "clash": {"type": ["object", "null"], "properties": {"index": text, "value": text, "key": number}},
        }),
        &["status", "detail", "kind"],
    );
    schemas
}

fn described<S>(operation: &Operation<S>) -> Json {
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": parameters(operation),
        "responses": responses(operation),
    });
    if operation.request != Content::Nothing {
        described["requestBody"] = json!({"required": true, "content": content(operation.request)});
    }
    described
}

fn parameters<S>(operation: &Operation<S>) -> Vec<Json> {
    let names = operation.path.split('/').filter_map(|part| {
        part.strip_prefix('{')
            .and_then(|part| part.strip_suffix('}'))
    });
    let in_path = names.map(|name| {
        let kind = if name == "key" { "integer" } else { "string" };
        json!({"name": name, "in": "path", "required": true, "schema": {"type": kind}})
    });
    let in_query = operation.query.iter().map(|parameter| {
        json!({
            "name": parameter.name, "in": "query", "description": parameter.about,
            "required": parameter.is_required, "schema": schema(parameter),
        })
    });
    let conditions = operation
        .is_conditional
        .then_some(["If-Match", "If-None-Match"]);
    let in_headers = conditions.into_iter().flatten().map(|name| {
        json!({"name": name, "in": "header", "schema": {"type": "string"},
            "description": "entity tags, or * (RFC 9110 §13.1)"})
    });
    let is_feed = |(_, content): &(u16, Content)| matches!(content, Content::Events(_));
    let last = operation.responses.iter().find(|response| is_feed(response)).map(|_| {
        json!({"name": "Last-Event-ID", "in": "header", "schema": {"type": "integer", "minimum": 0},
            "description": "the id of the last received event: the feed continues after it"})
    });
    let in_headers = in_headers.chain(last);
    in_path.chain(in_query).chain(in_headers).collect()
}

fn schema(parameter: &Parameter) -> Json {
    match parameter.value_type {
        ParameterType::Text => json!({"type": "string"}),
        ParameterType::TextList => json!({"type": "array", "items": {"type": "string"}}),
        ParameterType::Boolean => json!({"type": "boolean"}),
        ParameterType::OneOf(words) => json!({"type": "string", "enum": words}),
        ParameterType::Integer(minimum, u64::MAX) => json!({"type": "integer", "minimum": minimum}),
        ParameterType::Integer(minimum, maximum) => {
            json!({"type": "integer", "minimum": minimum, "maximum": maximum})
        }
    }
}

fn responses<S>(operation: &Operation<S>) -> Json {
    let mut responses = Map::new();
    for (status, body) in operation.responses {
        let reason = StatusCode::from_u16(*status)
            .ok()
            .and_then(|status| status.canonical_reason());
        let mut response = json!({"description": reason.unwrap_or("done")});
        let location = (*status == 201).then_some(&"Location");
        for name in operation.headers.iter().chain(location) {
            response["headers"][name] = json!({"schema": {"type": "string"}});
        }
        if *body != Content::Nothing {
            response["content"] = content(*body);
        }
        responses.insert(status.to_string(), response);
    }
    let problem = json!({
        "description": "the error",
        "content": {"application/problem+json": {"schema": reference("Problem")}},
    });
    responses.insert("default".to_owned(), problem);
    Json::Object(responses)
}

fn content(content: Content) -> Json {
    match content {
        Content::Nothing => json!({}),
        Content::Schema(name) => json!({"application/json": {"schema": reference(name)}}),
        Content::Lines | Content::Text => content.media().iter().map(text_of).collect(),
        Content::Events(name) => json!({
            "text/event-stream": {
                "schema": {"type": "string", "description": "server-sent events; the `id` of one is its version"},
                "x-item-schema": reference(name),
            },
        }),
        Content::Csv(name) => json!({
            "application/json": {"schema": reference(name)},
            "text/csv": {"schema": {"type": "string"}},
        }),
        Content::Patch(name) => json!({
            MERGE_PATCH: {"schema": reference(name)},
            "application/json": {"schema": reference(name)},
        }),
    }
}

/// The description of a media type whose bodies are text.
fn text_of(media: &&str) -> (String, Json) {
    ((*media).to_owned(), json!({"schema": {"type": "string"}}))
}

/// A reference to a schema of the description.
pub(crate) fn reference(name: &str) -> Json {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// The schema of an object with one list.
pub(crate) fn list_of(name: &str, items: Json) -> Json {
    json!({"type": "object", "properties": {name: {"type": "array", "items": items}}, "required": [name]})
}

/// The schema of an object.
pub(crate) fn object(properties: Json, required: &[&str]) -> Json {
    json!({"type": "object", "properties": properties, "required": required})
}
