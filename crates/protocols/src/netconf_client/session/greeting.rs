//! Exchanges the `hello` messages (RFC 6241 §8.1).

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use super::input::Input;
use crate::netconf::{Framing, Hello, ServerHello};
use crate::netconf_client::error::ClientError;
use crate::netconf_client::limits::ClientLimits;

/// The number of bytes of something that is no `hello` that an error has.
const EXCERPT_BYTES: usize = 200;

/// Sends the `hello` of the client and receives that of the server. Neither side waits for the other.
pub(super) async fn greet<R, W>(
    input: &mut Input<R>,
    writer: &mut W,
    capabilities: &[String],
    limits: &ClientLimits,
) -> Result<(ServerHello, Framing), ClientError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let own = format!("{}]]>]]>", Hello::print(capabilities, None));
    let exchanged = async {
        let sent = async {
            writer.write_all(own.as_bytes()).await?;
            writer.flush().await
        };
        // What the server sent before it closed the connection has the reason.
        let (sent, received) = tokio::join!(sent, receive(input, limits));
        match (sent, received) {
            (_, Ok(hello)) => Ok(hello),
            (_, Err(error)) => Err(error),
        }
    };
    let exchanged = timeout(limits.hello_time_max, exchanged).await;
    let hello = exchanged.map_err(|_| {
        ClientError::Timeout("the server did not send its hello in time (hello_time_max)")
    })??;
    let framing = hello.framing_with(capabilities)?;
    input.set_framing(framing);
    Ok((hello, framing))
}

async fn receive<R: AsyncRead + Unpin>(
    input: &mut Input<R>,
    limits: &ClientLimits,
) -> Result<ServerHello, ClientError> {
    let first = input.peek().await?;
    let begin = first.trim_ascii_start();
    if begin.first().is_some_and(|byte| !b"<#".contains(byte)) {
        let end = begin.len().min(EXCERPT_BYTES);
        let excerpt = String::from_utf8_lossy(&begin[..end]);
        return Err(ClientError::NotNetconf(excerpt.trim_end().to_owned()));
    }
    let names = ("the hello of the server", "hello_bytes_max");
    let text = input
        .rest(Vec::new(), limits.hello_bytes_max, names)
        .await?;
    Ok(ServerHello::parse(text.trim_start())?)
}
