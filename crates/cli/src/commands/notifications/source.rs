//! The anchor that a command works on, in a store or on a server.

use clap::Args;
use espalier_service::notifications::Notification;
use espalier_store::EventSettings;
use serde_json::Value as Json;

use crate::endpoint::{Local, NotifyBody, Remote};
use crate::settings::{Access, OutputOptions, Settings};
use espalier_terminal::{Failure, Result};

/// Options of the commands.
#[derive(Args, Clone, Debug, Default)]
pub struct SourceOption {
    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

/// The anchor, in a store or on a server.
pub enum Source {
    Store(Box<Local>),
    Server(Box<Remote>),
}

impl SourceOption {
    /// Opens the anchor.
    pub fn open(&self, settings: Settings) -> Result<Source> {
        let settings = Settings::from(&self.access).over(settings);
        match settings.server.clone() {
            Some(url) => Ok(Source::Server(Box::new(Remote::new(&url, &settings)?))),
            None => Ok(Source::Store(Box::new(Local::open_for_reading(&settings)?))),
        }
    }
}

impl Source {
    /// Sends a notification; returns its sequence number.
    pub fn notify(&self, body: &NotifyBody) -> Result<u64> {
        match self {
            Self::Server(server) => server.notify(body),
            Self::Store(local) => {
                let running = local.datastore();
                Ok(running.notify(notification(running.schema(), body)?)?)
            }
        }
    }

    /// The settings of the event log.
    pub fn settings(&self) -> Result<EventSettings> {
        match self {
            Self::Store(local) => Ok(local.datastore().event_settings()?),
            Self::Server(server) => server.event_settings(),
        }
    }

    /// Changes the settings with a JSON Merge Patch.
    pub fn change_settings(&self, patch: &Json) -> Result<EventSettings> {
        match self {
            Self::Store(local) => Ok(local.datastore().change_event_settings(patch)?),
            Self::Server(server) => server.change_event_settings(patch),
        }
    }
}

/// The notification that a body describes.
pub fn notification(
    schema: &espalier_yang::Schema,
    body: &NotifyBody,
) -> espalier_store::Result<Notification> {
    let time = body.event_time.as_deref().map(event_time).transpose()?;
    let document = body.content.to_string();
    Notification::parse_json(schema, &body.parent, document.as_bytes(), time)
}

fn event_time(text: &str) -> espalier_store::Result<espalier_store::Timestamp> {
    espalier_service::notifications::parse_time(text).ok_or_else(|| {
        let message = format!("“{text}” is no time: expected one such as 2026-11-28T12:00:00Z");
        espalier_store::Error::data(espalier_yang::ErrorTag::InvalidValue, message)
    })
}

/// The failure of a stream that has ended early.
pub fn terminated(reason: impl std::fmt::Display) -> Failure {
    Failure::data(format!("the subscription ended: {reason}"))
}
