//! A session of lines, in place of NETCONF: what it does shows how its transport behaves.

use std::sync::Arc;

use espalier_protocols::netconf::NetconfPeer;
use espalier_protocols::netconf::transport::SessionRunner;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Notify;

/// The size of the pieces in which bytes are sent: that of NETCONF chunks.
const PIECE: usize = 64 * 1024;

/// Runs sessions of lines. The first line is `hello USER TRANSPORT ADDRESS`. Each line of the client is returned, except:
/// `send N` sends N bytes; `take N` takes N bytes and returns `taken N`; `stall` stops until released; `close` ends.
#[derive(Clone, Default)]
pub struct Lines {
    released: Arc<Notify>,
}

impl Lines {
    /// Lets the sessions go on that are stalled.
    pub fn release(&self) {
        self.released.notify_waiters();
    }

    async fn converse<S>(&self, stream: S, peer: &NetconfPeer) -> std::io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let mut stream = BufReader::new(stream);
        let user = &peer.caller.user;
        let hello = format!("hello {user} {} {}\n", peer.transport.name(), peer.address);
        stream.write_all(hello.as_bytes()).await?;
        stream.flush().await?;
        let mut line = String::new();
        while stream.read_line(&mut line).await? > 0 {
            match line.trim_end().split_once(' ') {
                Some(("send", count)) => send(&mut stream, count.parse().unwrap()).await?,
                Some(("take", count)) => take(&mut stream, count.parse().unwrap()).await?,
                _ if line == "close\n" => return Ok(()),
                _ if line == "stall\n" => {
                    stream.write_all(b"stalled\n").await?;
                    self.released.notified().await;
                }
                _ => stream.write_all(line.as_bytes()).await?,
            }
            stream.flush().await?;
            line.clear();
        }
        Ok(())
    }
}

impl SessionRunner for Lines {
    async fn run<S>(&self, stream: S, peer: NetconfPeer)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + Sync + 'static,
    {
        // An error is the end of the connection.
        let _ = self.converse(stream, &peer).await;
    }
}

/// The byte at a position of what is sent.
pub fn byte_at(position: u64) -> u8 {
    (position % 251) as u8
}

/// The bytes from 0 on, for writing from any position that is a multiple of 251.
pub fn pattern(length: usize) -> Vec<u8> {
    (0..length as u64).map(byte_at).collect()
}

async fn send(stream: &mut (impl AsyncWrite + Unpin), count: u64) -> std::io::Result<()> {
    let pattern = pattern(PIECE + 251);
    let mut position = 0;
    while position < count {
        let start = (position % 251) as usize;
        let length = (count - position).min(PIECE as u64) as usize;
        stream.write_all(&pattern[start..start + length]).await?;
        position += length as u64;
    }
    Ok(())
}

async fn take<S>(stream: &mut S, count: u64) -> std::io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut position = 0;
    let mut piece = vec![0; PIECE];
    while position < count {
        let length = (count - position).min(PIECE as u64) as usize;
        let read = stream.read(&mut piece[..length]).await?;
        if read == 0 {
            return Ok(());
        }
        let expected = pattern(read + 251);
        let start = (position % 251) as usize;
        assert_eq!(piece[..read], expected[start..start + read]);
        position += read as u64;
    }
    stream
        .write_all(format!("taken {count}\n").as_bytes())
        .await
}
