//! `espalier token`.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use espalier_service::identity::{NewToken, Scope, TokenError, TokenId, TokenInfo};
use espalier_service::notifications::time_text;
use espalier_store::{Clock, SystemClock};
use serde_json::{Value as Json, json};

use super::user_store::{OpenService, UserStore};
use crate::settings::Settings;
use crate::times::parse_duration;
use espalier_terminal::output::{self, escaped};
use espalier_terminal::{Failure, Result};

/// Create, list and revoke bearer tokens
#[derive(Args, Debug)]
#[command(after_help = "\
A program logs in to a server with a token, in place of a password: `Authorization: Bearer TOKEN`. Commands take it \
from ESPALIER_TOKEN. Only a hash of it is stored, so it is shown once.

Examples:
  espalier token create maria --name backup --scope read-only --expires 90d --store embedded:data
  ESPALIER_TOKEN=esp_... espalier get / --server https://host:8443
  espalier token list --store embedded:data
  espalier token revoke 0123456789abcdef --store embedded:data")]
pub struct Token {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Create(Create),
    List(List),
    Revoke(Revoke),
}

impl Token {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        match &self.command {
            Command::Create(command) => command.run(settings),
            Command::List(command) => command.run(settings),
            Command::Revoke(command) => command.run(settings),
        }
    }

    /// Whether results and errors are printed as JSON.
    pub fn wants_json(&self) -> bool {
        let user_store = match &self.command {
            Command::Create(command) => &command.user_store,
            Command::List(command) => &command.user_store,
            Command::Revoke(command) => &command.user_store,
        };
        user_store.output_options().json
    }
}

/// What the bearer of a token may do.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum TokenScope {
    /// All that the user may do.
    Full,
    /// Of that, reads only.
    ReadOnly,
}

/// Create a token, and print it
#[derive(Args, Debug)]
struct Create {
    /// The user as whom its bearer acts
    user: String,

    /// What it is for
    #[arg(long, default_value = "")]
    name: String,

    /// What its bearer may do
    #[arg(long, value_enum, default_value = "full")]
    scope: TokenScope,

    /// After which time it expires, as in 12h or 90d; at most 731d
    #[arg(long, value_name = "SPAN", default_value = "90d")]
    expires: String,

    #[command(flatten)]
    user_store: UserStore,
}

impl Create {
    fn run(&self, settings: Settings) -> Result<()> {
        let lifetime: Duration = parse_duration(&self.expires)?;
        let OpenService { service, session } = self.user_store.service(settings)?;
        let users = service.accounts().authenticator().users();
        if users.get(&self.user).is_none() {
            return Err(Failure::data(format!("there is no user {:?}", self.user))
                .hint("add it with `espalier user add NAME`"));
        }
        let token = NewToken {
            user: &self.user,
            name: &self.name,
            scope: match self.scope {
                TokenScope::Full => Scope::Full,
                TokenScope::ReadOnly => Scope::ReadOnly,
            },
            lifetime,
        };
        let created = service.create_token(&session, token);
        let (token, info) = created.map_err(failure)?;
        let mut answer = to_json(&info);
        answer["token"] = Json::from(token.reveal());
        output::print_result(
            self.user_store.output_options().json,
            &answer,
            &token.reveal(),
        )
    }
}

/// List the tokens, without their secrets
#[derive(Args, Debug)]
struct List {
    #[command(flatten)]
    user_store: UserStore,
}

impl List {
    fn run(&self, settings: Settings) -> Result<()> {
        let is_json = self.user_store.output_options().json;
        let service = self.user_store.service(settings)?.service;
        let tokens = service.accounts().authenticator().tokens();
        let now = SystemClock.now();
        for info in tokens.list().map_err(failure)? {
            let expires = match info.is_expired(now) {
                true => "expired",
                false => "expires",
            };
            let text = format!(
                "{}  {}  {}  {expires} {}  {}",
                info.id,
                escaped(&info.user),
                scope_name(info.scope),
                time_text(info.expires),
                escaped(&info.name)
            );
            output::print_result(is_json, &to_json(&info), text.trim_end())?;
        }
        Ok(())
    }
}

/// Revoke tokens
#[derive(Args, Debug)]
struct Revoke {
    /// The id of the token, as `token list` prints it
    #[arg(required_unless_present_any = ["user", "expired"])]
    id: Option<String>,

    /// Revoke all tokens of this user
    #[arg(long, value_name = "NAME", conflicts_with = "id")]
    user: Option<String>,

    /// Remove all tokens that have expired
    #[arg(long, conflicts_with_all = ["id", "user"])]
    expired: bool,

    #[command(flatten)]
    user_store: UserStore,
}

impl Revoke {
    fn run(&self, settings: Settings) -> Result<()> {
        let id = self.id.as_ref().map(|id| id.parse()).transpose();
        let id: Option<TokenId> = id.map_err(|_| {
            // It may be the token itself, so it is not repeated.
            Failure::usage("this is not the id of a token")
                .hint("`espalier token list` prints the ids: 16 hexadecimal digits")
        })?;
        let OpenService { service, session } = self.user_store.service(settings)?;
        let revoked = service.revoke_tokens(&session, |tokens| match (id, &self.user) {
            (Some(id), _) => Ok(tokens.revoke(id)?.then_some(id).into_iter().collect()),
            (None, Some(user)) => tokens.revoke_all_of(user),
            (None, None) => tokens.remove_expired(SystemClock.now()),
        });
        let revoked = revoked.map_err(failure)?;
        if let Some(id) = id.filter(|_| revoked.is_empty()) {
            return Err(Failure::data(format!("there is no token {id}")));
        }
        let revoked: Vec<String> = revoked.iter().map(ToString::to_string).collect();
        let answer = json!({"revoked": revoked});
        let is_json = self.user_store.output_options().json;
        output::print_result(is_json, &answer, &revoked.join("\n"))
    }
}

fn failure(error: TokenError) -> Failure {
    Failure::data(error.to_string())
}

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Full => "full",
        Scope::ReadOnly => "read-only",
    }
}

fn to_json(info: &TokenInfo) -> Json {
    json!({
        "id": info.id.to_string(),
        "user": info.user,
        "name": info.name,
        "scope": scope_name(info.scope),
        "created": time_text(info.created),
        "expires": time_text(info.expires),
    })
}
