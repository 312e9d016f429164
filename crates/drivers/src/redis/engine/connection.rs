//! Connections to one server or to a Cluster.

use std::time::Duration;

use espalier_keyspace::Result;
use redis::cluster::{ClusterClient, ClusterClientBuilder, ClusterConnection};
use redis::{
    Client, ClientTlsConfig, Cmd, Connection, ConnectionAddr, ConnectionInfo, ConnectionLike,
    IntoConnectionInfo, RedisConnectionInfo, RedisError, RedisResult, TlsCertificates, TlsMode,
    Value,
};

use super::error::{engine_error, is_from_cluster_member, unexpected_reply};
use super::script::Script;
use crate::credentials::{Tls, read};
use crate::redis::NAME_TLS;
use crate::redis::config::Config;

/// How often the client library itself retries with a Cluster, and the longest wait between. The driver retries
/// within its own timeout. Without these limits the library retries for ten minutes.
const CLUSTER_RETRIES: u32 = 4;
const CLUSTER_RETRY_MS_MAX: u64 = 250;

/// Opens connections.
pub(crate) enum Connector {
    Single(Client),
    Cluster(ClusterClient),
}

/// A connection to one server or to a Cluster.
pub(crate) enum ServerConnection {
    Single(Box<Connection>),
    Cluster(Box<ClusterConnection>),
}

impl Connector {
    pub(crate) fn new(config: &Config) -> Result<Self> {
        let certificates = config.tls.as_ref().map(certificates).transpose()?;
        let address = config.servers.shown();
        Self::build(config, certificates).map_err(|error| engine_error(&address, &error))
    }

    fn build(config: &Config, certificates: Option<TlsCertificates>) -> RedisResult<Self> {
        let mut nodes = Vec::new();
        for (host, port) in &config.servers.hosts {
            nodes.push(connection_info(config, host, *port)?);
        }
        if nodes.len() > 1 {
            let mut builder = ClusterClientBuilder::new(nodes)
                .connection_timeout(config.timeout)
                .response_timeout(config.timeout)
                .retries(CLUSTER_RETRIES)
                .max_retry_wait(CLUSTER_RETRY_MS_MAX);
            if let Some(certificates) = certificates {
                builder = builder.tls(TlsMode::Secure).certs(certificates);
            }
            return builder.build().map(Self::Cluster);
        }
        let node = nodes.remove(0);
        let client = match certificates {
            Some(certificates) => Client::build_with_tls(node, certificates),
            None => Client::open(node),
        };
        client.map(Self::Single)
    }

    /// Returns whether the error is from a single server that is a member of a Cluster.
    pub(crate) fn is_cluster_member_error(&self, error: &RedisError) -> bool {
        matches!(self, Self::Single(_)) && is_from_cluster_member(error)
    }

    pub(crate) fn connect(&self, timeout: Duration) -> RedisResult<ServerConnection> {
        match self {
            Self::Single(client) => {
                let connection = client.get_connection_with_timeout(timeout)?;
                connection.set_write_timeout(Some(timeout))?;
                Ok(ServerConnection::Single(Box::new(connection)))
            }
            Self::Cluster(client) => {
                let connection = client.get_connection()?;
                connection.set_write_timeout(Some(timeout))?;
                Ok(ServerConnection::Cluster(Box::new(connection)))
            }
        }
    }
}

fn connection_info(config: &Config, host: &str, port: u16) -> RedisResult<ConnectionInfo> {
    let host = host.to_owned();
    let addr = match config.tls {
        None => ConnectionAddr::Tcp(host, port),
        Some(_) => ConnectionAddr::TcpTls {
            host,
            port,
            insecure: false,
            tls_params: None,
        },
    };
    let mut settings = RedisConnectionInfo::default().set_db(config.database);
    if let Some(user) = &config.servers.user {
        settings = settings.set_username(user);
    }
    if let Some(password) = &config.servers.password {
        settings = settings.set_password(password);
    }
    Ok(addr.into_connection_info()?.set_redis_settings(settings))
}

fn certificates(tls: &Tls) -> Result<TlsCertificates> {
    let client_tls = match tls.identity(NAME_TLS)? {
        Some(identity) => Some(ClientTlsConfig {
            client_cert: read(&identity.certificate)?,
            client_key: read(&identity.key)?,
        }),
        None => None,
    };
    let root_cert = tls.ca.as_deref().map(read).transpose()?;
    Ok(TlsCertificates {
        client_tls,
        root_cert,
    })
}

/// The reply of a script: a status, and further fields.
pub(crate) struct Reply {
    pub(crate) status: String,
    pub(crate) fields: std::vec::IntoIter<Value>,
}

impl Reply {
    /// Reads the next field.
    pub(crate) fn next(&mut self) -> Result<Value> {
        self.fields.next().ok_or_else(unexpected_reply)
    }

    /// Reads the next field as bytes or nil.
    pub(crate) fn bytes(&mut self) -> Result<Option<Vec<u8>>> {
        bytes(self.next()?)
    }

    /// Reads the next field as a list.
    pub(crate) fn list(&mut self) -> Result<Vec<Value>> {
        match self.next()? {
            Value::Array(list) => Ok(list),
            _ => Err(unexpected_reply()),
        }
    }

    /// Reads the next field as a list of fields.
    pub(crate) fn nested(&mut self) -> Result<Self> {
        Ok(Self {
            status: String::new(),
            fields: self.list()?.into_iter(),
        })
    }

    /// Reads the next field as a number.
    pub(crate) fn number(&mut self) -> Result<u64> {
        redis::from_redis_value(self.next()?).map_err(|_| unexpected_reply())
    }
}

/// Reads a value as bytes or nil.
pub(crate) fn bytes(value: Value) -> Result<Option<Vec<u8>>> {
    match value {
        Value::Nil => Ok(None),
        Value::BulkString(bytes) => Ok(Some(bytes)),
        _ => Err(unexpected_reply()),
    }
}

impl ServerConnection {
    /// Sets the timeout for replies.
    pub(crate) fn wait_at_most(&self, timeout: Duration) -> RedisResult<()> {
        match self {
            Self::Single(connection) => connection.set_read_timeout(Some(timeout)),
            Self::Cluster(connection) => connection.set_read_timeout(Some(timeout)),
        }
    }

    /// Runs a command.
    pub(crate) fn run(&mut self, command: &Cmd) -> RedisResult<Value> {
        match self {
            Self::Single(connection) => command.query(&mut **connection),
            Self::Cluster(connection) => command.query(&mut **connection),
        }
    }

    /// Runs a script by its hash, or by its code if the server has not cached it yet.
    pub(crate) fn script(
        &mut self,
        script: &Script,
        keys: &[&str],
        arguments: &[&[u8]],
    ) -> RedisResult<Reply> {
        let reply = match self.call("EVALSHA", &script.hash, keys, arguments) {
            Err(error) if error.code() == Some("NOSCRIPT") => {
                self.call("EVAL", script.code, keys, arguments)
            }
            reply => reply,
        };
        script_reply(reply?)
    }

    fn call(
        &mut self,
        name: &str,
        script: &str,
        keys: &[&str],
        arguments: &[&[u8]],
    ) -> RedisResult<Value> {
        let count = keys.len().to_string();
        let parts = [name, script, &count].map(str::as_bytes).into_iter();
        let parts = parts.chain(keys.iter().map(|key| key.as_bytes()));
        let parts = parts.chain(arguments.iter().copied());
        match self {
            // This copies a large batch only once.
            Self::Single(connection) => connection
                .req_packed_command(&packed(parts))
                .and_then(Value::extract_error),
            Self::Cluster(connection) => {
                let mut command = Cmd::new();
                for part in parts {
                    command.arg(part);
                }
                command.query(&mut **connection)
            }
        }
    }
}

/// Encodes a command in the Redis protocol.
fn packed<'a>(parts: impl Iterator<Item = &'a [u8]> + Clone) -> Vec<u8> {
    // The most bytes of a line with a length.
    const LINE_BYTES: usize = 24;
    let bytes: usize = parts.clone().map(|part| part.len() + LINE_BYTES).sum();
    let mut sent = Vec::with_capacity(LINE_BYTES + bytes);
    sent.extend(format!("*{}\r\n", parts.clone().count()).bytes());
    for part in parts {
        sent.extend(format!("${}\r\n", part.len()).bytes());
        sent.extend(part);
        sent.extend(b"\r\n");
    }
    sent
}

fn script_reply(value: Value) -> RedisResult<Reply> {
    let wrong = || {
        RedisError::from((
            redis::ErrorKind::UnexpectedReturnType,
            "a script returned an unexpected reply",
        ))
    };
    let Value::Array(parts) = value else {
        return Err(wrong());
    };
    let mut fields = parts.into_iter();
    match fields.next() {
        Some(Value::BulkString(status)) => Ok(Reply {
            status: String::from_utf8_lossy(&status).into_owned(),
            fields,
        }),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_sent_as_the_client_sends_it() {
        let parts: [&[u8]; 3] = [b"SET", b"key \r\n", b""];
        let mut command = Cmd::new();
        command.arg(&parts);
        assert_eq!(packed(parts.into_iter()), command.get_packed_command());
    }
}
