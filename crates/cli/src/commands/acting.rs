//! What the commands about whole datastores have in common: whom they ask, and what they print.

use crate::settings::{Access, Settings, Talk};
use crate::target::{self, Act, Acting, Of};
use espalier_terminal::output;
use espalier_terminal::{Failure, Result};

/// Has something done with a datastore; `default` where none is named.
pub fn act(access: &Access, talk: Talk, settings: Settings, default: &str, act: Act) -> Result<()> {
    let settings = Settings::from(access).over(settings);
    let of_session = matches!(
        act,
        Act::Lock { .. }
            | Act::Unlock {
                of: Of::Session,
                ..
            }
            | Act::EndSession
    );
    if of_session && settings.session().is_empty() {
        return Err(
            Failure::usage("a lock belongs to a session, and none is named")
                .hint("add --session NAME (any name), or set ESPALIER_SESSION"),
        );
    }
    let acting = Acting {
        datastore: settings.datastore.clone().unwrap_or(default.to_owned()),
        session: settings.session().to_owned(),
        author: settings.author().to_owned(),
        comment: settings.comment.clone().unwrap_or_default(),
        act,
    };
    // The datastore is beside the one that is opened, so that a mistake in its name is told the
    // same way by a store and by a server.
    let beside = Settings {
        datastore: None,
        ..settings
    };
    let target = match acting.act {
        Act::Locks | Act::Validate => target::open_existing(&beside)?,
        _ => target::open(&beside)?,
    };
    let outcome = target.act(&acting)?;
    output::print_result(talk.json, &outcome.value, &outcome.text)
}
