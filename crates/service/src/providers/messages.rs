//! The messages between the server and programs: one JSON object each.

use espalier_store::{NodeChange, write_change_json};
use espalier_yang::data::{
    Accept, DataTree, MetadataMode, ParseError, ParseOptions, Root, TreeBuilder, json,
};
use espalier_yang::{DataError, ErrorTag, ErrorType, Errors, InstancePath, Schema};
use serde_json::{Map, Value as Json};

/// The maximum number of changes in a message. If a commit has more, `changes` is missing, and the program reads the
/// datastore.
pub const CHANGES_SENT_MAX: usize = 100_000;

/// The answer of a program to a call.
pub(super) enum Answer {
    /// It did what was to be done, or accepts it.
    Done,
    /// Data: state, output, or edits.
    Data(Json),
    /// It refused, or failed.
    Errors(Errors),
}

/// A message of a program.
pub(super) enum ProgramMessage {
    /// The answer to a call.
    Answer(u64, Answer),
    /// The state at a path, whole.
    Push(String, Json),
}

/// The members that carry the data of an answer.
const DATA_MEMBERS: [&str; 3] = ["data", "output", "edits"];

impl ProgramMessage {
    /// Parses a message.
    pub fn parse(message: &Json) -> Result<Self, Errors> {
        let object = message
            .as_object()
            .ok_or_else(|| malformed("not an object"))?;
        if let Some(call) = object.get("call") {
            let call = call
                .as_u64()
                .ok_or_else(|| malformed("“call” is no number"))?;
            return Ok(Self::Answer(call, answer(object)?));
        }
        if let (Some(Json::String(path)), Some(data)) = (object.get("push"), object.get("data")) {
            return Ok(Self::Push(path.clone(), data.clone()));
        }
        Err(malformed("neither “call” nor “push” with “data”"))
    }
}

fn answer(object: &Map<String, Json>) -> Result<Answer, Errors> {
    if let Some(errors) = object.get("errors") {
        return Ok(Answer::Errors(parse_errors(errors)?));
    }
    let mut data = DATA_MEMBERS.iter().filter_map(|name| object.get(*name));
    Ok(match data.next() {
        Some(data) => Answer::Data(data.clone()),
        None => Answer::Done,
    })
}

/// Errors as in RFC 8040 §7.1: a list of objects with `error-tag`, `error-message`, `error-path`, `error-app-tag`; or one
/// text.
fn parse_errors(errors: &Json) -> Result<Errors, Errors> {
    let list = match errors {
        Json::Array(list) if !list.is_empty() => list.iter().map(parse_error).collect(),
        error => vec![parse_error(error)],
    };
    let mut parsed = Errors::new();
    for error in list {
        parsed.push(error?);
    }
    Ok(parsed)
}

/// One error.
fn parse_error(error: &Json) -> Result<DataError, Errors> {
    if let Json::String(message) = error {
        return Ok(DataError::new(ErrorTag::OperationFailed, message.clone()));
    }
    let text = |name: &str| error.get(name).and_then(Json::as_str);
    let tag = match text("error-tag") {
        None => ErrorTag::OperationFailed,
        Some(tag) => {
            ErrorTag::parse(tag).ok_or_else(|| malformed(&format!("“{tag}” is no error-tag")))?
        }
    };
    let message = text("error-message").unwrap_or("the program refused");
    let mut parsed = DataError::new(tag, message);
    if let Some(app_tag) = text("error-app-tag") {
        parsed = parsed.with_app_tag(app_tag.to_owned());
    }
    Ok(match text("error-path") {
        Some(path) => parsed.at(path),
        None => parsed,
    })
}

fn malformed(reason: &str) -> Errors {
    let message = format!("a message of a program is not as documented: {reason}");
    let error = DataError::new(ErrorTag::MalformedMessage, message);
    error.of_type(ErrorType::Protocol).into()
}

/// Parses data that a program sent.
pub(super) fn parse_data(
    schema: &Schema,
    root: Root,
    metadata: MetadataMode,
    data: &Json,
) -> Result<DataTree, Errors> {
    let mut builder = TreeBuilder::new();
    let options = ParseOptions {
        accept: match metadata {
            // Edits are of the configuration.
            MetadataMode::Kept => Accept::Config,
            _ => Accept::All,
        },
        metadata,
        ..ParseOptions::default()
    };
    let text = data.to_string();
    match json::parse(schema, root, text.as_bytes(), &mut builder, &options) {
        Ok(()) | Err(ParseError::Stopped) => Ok(builder.finish()?),
        Err(ParseError::Invalid(errors)) => Err(errors),
        Err(error) => Err(malformed(&error.to_string())),
    }
}

/// Collects changes for a message.
#[derive(Default)]
pub(super) struct ChangeList {
    changes: Vec<Json>,
    is_cut: bool,
}

impl ChangeList {
    /// Adds a change, unless there are too many.
    pub fn add(&mut self, schema: &Schema, change: &NodeChange) {
        if self.changes.len() >= CHANGES_SENT_MAX {
            self.is_cut = true;
            return;
        }
        let mut line = Vec::new();
        write_change_json(&mut line, schema, change);
        // It is JSON by construction.
        self.changes
            .push(serde_json::from_slice(&line).unwrap_or_default());
    }

    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Puts the changes into a message.
    pub fn put(self, message: &mut Map<String, Json>) {
        match self.is_cut {
            true => message.insert("too-many-changes".to_owned(), true.into()),
            false => message.insert("changes".to_owned(), self.changes.into()),
        };
    }
}

/// The path of a node, as text.
pub(super) fn path_text(schema: &Schema, path: &InstancePath) -> Json {
    path.to_instance_identifier(schema).into()
}
