//! The requests of an SSH connection.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use espalier_service::Door;
use espalier_service::access::Caller;
use espalier_service::identity::Credentials;
use espalier_service::session::Transport;
use russh::keys::ssh_key::{Algorithm, PublicKey};
use russh::server::{
    Auth, ChannelOpenHandle, Handler, Msg, PublicKeyOffer, Response, Session, VerifiedPublicKey,
};
use russh::{Channel, ChannelId, ChannelOpenFailure, MethodSet, Pty};
use tokio::time::{Instant, sleep};

use super::channel::OpenChannel;
use super::config::{METHODS, is_sha1};
use crate::netconf::transport::login::log_in;
use crate::netconf::transport::{Connection, SessionRunner, TransportContext};

/// The subsystem of NETCONF (RFC 6242 §3).
const SUBSYSTEM: &str = "netconf";

/// The prompt of keyboard-interactive authentication (RFC 4256), whose answer is not shown.
const PROMPT: (Cow<'static, str>, bool) = (Cow::Borrowed("Password: "), false);

/// How often it is looked whether a connection has sessions, if it must not be without them.
const SESSIONS_CHECK: Duration = Duration::from_secs(1);

/// The state of a connection.
pub(super) struct SshHandler<R> {
    context: TransportContext<R>,
    connection: Arc<Connection>,
    /// The user, when the client is authenticated.
    caller: Option<Caller>,
    /// The channels without a session.
    waiting: HashMap<ChannelId, OpenChannel>,
    /// Its clones are those of the channels with a session.
    running: Arc<()>,
    /// The number of channels that were opened.
    opened: usize,
}

/// The sessions of a connection.
pub(super) struct RunningSessions(Weak<()>);

impl RunningSessions {
    /// Completes when there was no session for this long; never after the end of the connection.
    pub async fn absent_for(&self, time: Duration) {
        let mut since = Instant::now();
        loop {
            match self.0.strong_count() {
                0 => return std::future::pending().await,
                // That of the handler.
                1 if since.elapsed() >= time => return,
                1 => {}
                _ => since = Instant::now(),
            }
            sleep(time.min(SESSIONS_CHECK)).await;
        }
    }
}

impl<R: SessionRunner> SshHandler<R> {
    pub fn new(context: TransportContext<R>, connection: Connection) -> Self {
        Self {
            context,
            connection: Arc::new(connection),
            caller: None,
            waiting: HashMap::new(),
            running: Arc::default(),
            opened: 0,
        }
    }

    /// The sessions of the connection, to observe how many there are.
    pub fn sessions(&self) -> RunningSessions {
        RunningSessions(Arc::downgrade(&self.running))
    }

    fn door(&self) -> Door {
        Door {
            transport: Transport::NetconfSsh,
            peer: self.connection.peer(),
        }
    }

    async fn log_in(&mut self, credentials: Credentials) -> Auth {
        let (service, door) = (self.context.service(), self.door());
        match log_in(service, credentials, door, &self.connection).await {
            Some(caller) => {
                self.caller = Some(caller);
                Auth::Accept
            }
            None => rejection(),
        }
    }

    async fn log_in_with_password(&mut self, user: &str, password: &str) -> Auth {
        let credentials = Credentials::Password {
            user: user.to_owned(),
            password: password.to_owned(),
        };
        self.log_in(credentials).await
    }

    /// The number of channels that are open.
    fn channels(&self) -> usize {
        self.waiting.len() + Arc::strong_count(&self.running) - 1
    }

    /// Starts the session of a channel. Returns whether it was started.
    fn start_session(&mut self, channel: ChannelId) -> bool {
        let (caller, channel) = (self.caller.clone(), self.waiting.remove(&channel));
        let (Some(caller), Some(channel)) = (caller, channel) else {
            return false;
        };
        let Some(session) = self.context.admit_session(caller, self.door()) else {
            return false;
        };
        let (context, connection) = (self.context.clone(), Arc::clone(&self.connection));
        let running = Arc::clone(&self.running);
        tokio::spawn(async move {
            channel.run(context, connection, session).await;
            drop(running);
        });
        true
    }
}

/// A rejection after which all methods can be tried again: russh would take away the one that has failed, also after the
/// first of several keys of a client.
fn rejection() -> Auth {
    Auth::Reject {
        proceed_with_methods: Some(MethodSet::from(&METHODS[..])),
        partial_success: false,
    }
}

/// The algorithm of a key and its blob (RFC 4253 §6.6), unless signatures of this algorithm are not accepted.
fn key_of(key: &PublicKey, algorithm: &Algorithm) -> Option<(String, Vec<u8>)> {
    let data = key.to_bytes().ok()?;
    (!is_sha1(algorithm)).then(|| (key.algorithm().as_str().to_owned(), data))
}

impl<R: SessionRunner> Handler for SshHandler<R> {
    type Error = russh::Error;

    /// Accepted as for HTTP: while there are no users, if the settings permit it.
    async fn auth_none(&mut self, _user: &str) -> Result<Auth, Self::Error> {
        Ok(self.log_in(Credentials::None).await)
    }

    async fn auth_password(&mut self, user: &str, password: &str) -> Result<Auth, Self::Error> {
        Ok(self.log_in_with_password(user, password).await)
    }

    async fn auth_keyboard_interactive<'a>(
        &'a mut self,
        user: &str,
        _submethods: &str,
        response: Option<Response<'a>>,
    ) -> Result<Auth, Self::Error> {
        let Some(mut response) = response else {
            return Ok(Auth::Partial {
                name: Cow::Borrowed(""),
                instructions: Cow::Borrowed(""),
                prompts: Cow::Owned(vec![PROMPT]),
            });
        };
        let (answer, further) = (response.next(), response.next());
        let answer = answer.filter(|_| further.is_none());
        match answer.as_deref().map(std::str::from_utf8) {
            Some(Ok(password)) => Ok(self.log_in_with_password(user, password).await),
            _ => Ok(rejection()),
        }
    }

    /// Rejects keys that are not the user's before the client signs. Not recorded: clients try all of their keys.
    async fn auth_publickey_offered(
        &mut self,
        user: &str,
        offer: PublicKeyOffer<'_>,
    ) -> Result<Auth, Self::Error> {
        let users = self.context.service().accounts().authenticator().users();
        let user = users.get(user);
        let key = key_of(offer.public_key, offer.algorithm);
        let is_theirs = user
            .zip(key)
            .is_some_and(|(user, (algorithm, data))| user.has_key(&algorithm, &data));
        match is_theirs {
            true => Ok(Auth::Accept),
            false => Ok(rejection()),
        }
    }

    async fn auth_publickey(
        &mut self,
        user: &str,
        key: VerifiedPublicKey<'_>,
    ) -> Result<Auth, Self::Error> {
        let Some((algorithm, data)) = key_of(key.public_key, key.algorithm) else {
            return Ok(rejection());
        };
        let credentials = Credentials::PublicKey {
            user: user.to_owned(),
            algorithm,
            data,
        };
        Ok(self.log_in(credentials).await)
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Self::Error> {
        let limits = self.context.limits();
        if self.channels() >= limits.channels_max || self.opened >= limits.channels_opened_max {
            reply.reject(ChannelOpenFailure::ResourceShortage).await;
            return Ok(());
        }
        self.opened += 1;
        let id = channel.id();
        let channel = OpenChannel::new(channel, limits.channel_input_bytes_max);
        self.waiting.insert(id, channel);
        reply.accept().await;
        Ok(())
    }

    async fn channel_close(
        &mut self,
        channel: ChannelId,
        _session: &mut Session,
    ) -> Result<(), Self::Error> {
        self.waiting.remove(&channel);
        Ok(())
    }

    /// The channel of a session has its own way to its data. Data for no session end the channel, so that they are not
    /// kept.
    async fn data(
        &mut self,
        channel: ChannelId,
        _data: &[u8],
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        match self.waiting.remove(&channel) {
            Some(_) => session.close(channel),
            None => Ok(()),
        }
    }

    async fn extended_data(
        &mut self,
        channel: ChannelId,
        _code: u32,
        data: &[u8],
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        self.data(channel, data, session).await
    }

    async fn subsystem_request(
        &mut self,
        channel: ChannelId,
        name: &str,
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        match name == SUBSYSTEM && self.start_session(channel) {
            true => session.channel_success(channel),
            false => session.channel_failure(channel),
        }
    }

    /// Accepted without effect: scrapli forces a terminal, and hangs up without one.
    async fn pty_request(
        &mut self,
        channel: ChannelId,
        _term: &str,
        _col_width: u32,
        _row_height: u32,
        _pix_width: u32,
        _pix_height: u32,
        _modes: &[(Pty, u32)],
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        session.channel_success(channel)
    }

    // All other requests are refused: without an answer, clients would wait for one.

    async fn x11_request(
        &mut self,
        channel: ChannelId,
        _single_connection: bool,
        _x11_auth_protocol: &str,
        _x11_auth_cookie: &str,
        _x11_screen_number: u32,
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        session.channel_failure(channel)
    }

    async fn env_request(
        &mut self,
        channel: ChannelId,
        _variable_name: &str,
        _variable_value: &str,
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        session.channel_failure(channel)
    }

    async fn shell_request(
        &mut self,
        channel: ChannelId,
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        session.channel_failure(channel)
    }

    async fn exec_request(
        &mut self,
        channel: ChannelId,
        _command: &[u8],
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        session.channel_failure(channel)
    }

    async fn agent_request(
        &mut self,
        channel: ChannelId,
        session: &mut Session,
    ) -> Result<bool, Self::Error> {
        session.channel_failure(channel)?;
        Ok(false)
    }
}
