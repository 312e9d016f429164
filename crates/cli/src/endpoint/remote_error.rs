//! Parses the error body of RESTCONF (RFC 8040 §7.1).

use espalier_protocols::http_error::ERRORS_TOTAL;
use espalier_protocols::http_status;
use espalier_yang::{DataError, ErrorInfo, ErrorTag, ErrorType, Errors};
use serde::Deserialize;
use serde_json::Value as Json;
use ureq::Body;
use ureq::http::{Response, StatusCode};

use espalier_terminal::Failure;

#[derive(Deserialize)]
struct Envelope {
    #[serde(rename = "ietf-restconf:errors")]
    errors: List,
}

#[derive(Deserialize)]
struct List {
    error: Vec<Item>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Item {
    #[serde(default)]
    error_type: String,
    #[serde(default)]
    error_tag: String,
    error_app_tag: Option<String>,
    error_path: Option<String>,
    #[serde(default)]
    error_message: String,
    #[serde(default)]
    error_info: Json,
}

/// Converts an error response to a failure.
pub fn failure_of(answer: Response<Body>) -> Failure {
    let status = answer.status();
    let failure = refused(answer);
    match status {
        StatusCode::UNAUTHORIZED => failure.hint(
            "log in with --user NAME and ESPALIER_PASSWORD, or with a token in ESPALIER_TOKEN",
        ),
        _ => failure,
    }
}

fn refused(mut answer: Response<Body>) -> Failure {
    let status = answer.status();
    let total = answer.headers().get(&ERRORS_TOTAL);
    let total: Option<usize> = total.and_then(|total| total.to_str().ok()?.parse().ok());
    let text = answer.body_mut().read_to_string().unwrap_or_default();
    let Ok(envelope) = serde_json::from_str::<Envelope>(&text) else {
        let message = format!("the server answered {status}: {}", text.trim());
        let error = DataError::new(http_status::tag_of(status), message.clone());
        return Failure::data(message).detail(error.of_type(ErrorType::Protocol));
    };
    let mut errors = Errors::new();
    for item in envelope.errors.error {
        errors.push(item.into());
    }
    errors.count_more(total.unwrap_or_default().saturating_sub(errors.len()));
    Failure::invalid(format!("the server refused ({status})"), &errors)
}

impl From<Item> for DataError {
    fn from(item: Item) -> Self {
        let tag = ErrorTag::ALL
            .into_iter()
            .find(|tag| tag.as_str() == item.error_tag);
        let kind = TYPES.iter().find(|kind| kind.as_str() == item.error_type);
        let (line, message) = line_and_message(&item.error_message);
        let mut error = Self::new(tag.unwrap_or(ErrorTag::OperationFailed), message)
            .of_type(*kind.unwrap_or(&ErrorType::Application))
            .at(item.error_path.unwrap_or_default())
            .on_line(line);
        error.app_tag = item.error_app_tag.map(Into::into);
        let info = ErrorInfo::from_json(&item.error_info);
        error.given_info = (!info.is_empty()).then(|| Box::new(info));
        error
    }
}

/// The body of §7.1 has no member for the line, so the server begins the message with it.
fn line_and_message(text: &str) -> (u32, &str) {
    let split = text
        .strip_prefix("line ")
        .and_then(|rest| rest.split_once(": "));
    match split.and_then(|(line, message)| Some((line.parse().ok()?, message))) {
        Some((line, message)) => (line, message),
        None => (0, text),
    }
}

const TYPES: &[ErrorType] = &[
    ErrorType::Transport,
    ErrorType::Rpc,
    ErrorType::Protocol,
    ErrorType::Application,
];
