//! Errors of the client and of servers as failures of commands.

use espalier_protocols::netconf_client::{ClientError, HostKeyError, RpcError};
use espalier_terminal::Failure;
use espalier_yang::{DataError, ErrorInfo, ErrorTag, ErrorType, Errors};

/// A failure of a person's interrupt.
pub fn interrupted() -> Failure {
    Failure::data("interrupted")
}

/// A failure of an error. In text, messages have the type and the information that JSON has in members of their own.
pub fn of_client(error: ClientError, is_json: bool) -> Failure {
    let text = error.to_string();
    match error {
        ClientError::Rpc(errors) => {
            let mut all = Errors::new();
            for error in errors {
                all.push(data_error(error, is_json));
            }
            Failure::invalid("the server rejected the operation", &all)
        }
        ClientError::Target(..) => Failure::usage(text),
        ClientError::HostKey(HostKeyError::Unknown { .. }) => Failure::data(text).hint(
            "compare the fingerprint with that of the server (of `espalier serve`, in its log); --accept-new-host-key \
             then adds it to known_hosts",
        ),
        ClientError::HostKey(HostKeyError::Changed { host, file, .. }) => {
            Failure::data(text).hint(format!(
                "if the key was changed on purpose, remove the old one: ssh-keygen -R '{host}' -f '{}'",
                file.display()
            ))
        }
        ClientError::Authentication { .. } => Failure::data(text).hint(
            "--password-file FILE, ESPALIER_PASSWORD, --identity FILE and an SSH agent give credentials; --user the user",
        ),
        ClientError::PrivateKey {
            file,
            is_encrypted: true,
            ..
        } => Failure::data(text).hint(format!(
            "an SSH agent can hold it: ssh-add '{}', then leave out --identity",
            file.display()
        )),
        ClientError::TooBig {
            limit: "held_bytes_max",
            ..
        } => Failure::data(text).hint("--out FILE receives data of any size, as XML"),
        ClientError::Timeout(_) if text.contains("reply_time_max") => {
            Failure::data(text).hint("--reply-timeout SECONDS sets another limit; 0 is none")
        }
        ClientError::Write(_) => Failure::data(text),
        _ => Failure::data(text),
    }
}

fn data_error(error: RpcError, is_json: bool) -> DataError {
    let tag = ErrorTag::parse(&error.tag);
    let mut message = match error.message.is_empty() {
        true => "the server gives no reason".to_owned(),
        false => error.message.clone(),
    };
    if !is_json {
        let kind = (!error.error_type.is_empty()).then(|| format!("type {}", error.error_type));
        let app_tag = (!error.app_tag.is_empty()).then(|| format!("app-tag {}", error.app_tag));
        let info = error
            .info
            .iter()
            .map(|(name, value)| format!("{name} {value}"));
        let parts: Vec<_> = kind.into_iter().chain(app_tag).chain(info).collect();
        if !parts.is_empty() {
            message = format!("{message} [{}]", parts.join(", "));
        }
    }
    let mut found = DataError::new(tag.unwrap_or(ErrorTag::OperationFailed), message)
        .at(error.path.clone())
        .of_type(error_type(&error.error_type));
    match (tag, error.app_tag.is_empty()) {
        (_, false) => found = found.with_app_tag(error.app_tag.clone()),
        // Tags of vendors are no tags of RFC 6241.
        (None, true) if !error.tag.is_empty() => found = found.with_app_tag(error.tag.clone()),
        _ => {}
    }
    found.given_info = Some(Box::new(error_info(error.info)));
    found
}

fn error_type(name: &str) -> ErrorType {
    let all = [
        ErrorType::Transport,
        ErrorType::Rpc,
        ErrorType::Protocol,
        ErrorType::Application,
    ];
    let mut all = all.into_iter();
    all.find(|kind| kind.as_str() == name).unwrap_or_default()
}

fn error_info(members: Vec<(String, String)>) -> ErrorInfo {
    let mut info = ErrorInfo::default();
    for (name, value) in members {
        match name.as_str() {
            "bad-element" => info.bad_element = Some(value),
            "bad-attribute" => info.bad_attribute = Some(value),
            "bad-namespace" => info.bad_namespace = Some(value),
            "session-id" => info.session_id = Some(value),
            "missing-choice" => info.missing_choice = Some(value),
            "non-unique" => info.non_unique.push(value),
            _ => {}
        }
    }
    info
}
