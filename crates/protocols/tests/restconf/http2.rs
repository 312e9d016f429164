//! HTTP/2 in cleartext, by prior knowledge.

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::support::{JSON, Server};

/// Sends requests on one connection, and returns the status and body of each response.
pub async fn requests<S>(stream: S, requests: &[(&str, &str, &'static str)]) -> Vec<(u16, Bytes)>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let mut responses = Vec::new();
    for (method, path, body) in requests {
        let mut client = client.clone().ready().await.unwrap();
        let request = http::Request::builder()
            .method(*method)
            .uri(format!("http://localhost{path}"))
            .header("content-type", JSON)
            .body(())
            .unwrap();
        let (response, mut sender) = client.send_request(request, body.is_empty()).unwrap();
        if !body.is_empty() {
            sender
                .send_data(Bytes::from_static(body.as_bytes()), true)
                .unwrap();
        }
        let response = response.await.unwrap();
        let status = response.status().as_u16();
        let mut stream = response.into_body();
        let mut whole = Vec::new();
        while let Some(piece) = stream.data().await {
            let piece = piece.unwrap();
            stream.flow_control().release_capacity(piece.len()).unwrap();
            whole.extend_from_slice(&piece);
        }
        responses.push((status, Bytes::from(whole)));
    }
    responses
}

#[test]
fn requests_over_one_connection() {
    let server = Server::start();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let responses = runtime.block_on(async {
        let stream = TcpStream::connect(server.address).await.unwrap();
        let put = r#"{"garden:keyed":[{"k":"a"}]}"#;
        requests(
            stream,
            &[
                ("PUT", "/restconf/data/garden:keyed=a", put),
                ("GET", "/restconf/data/garden:keyed=a", ""),
                ("GET", "/restconf/data/garden:keyed=z", ""),
            ],
        )
        .await
    });
    assert_eq!(responses[0], (201, Bytes::new()));
    assert_eq!(
        responses[1],
        (200, Bytes::from(r#"{"garden:keyed":[{"k":"a"}]}"#))
    );
    assert_eq!(responses[2].0, 404);
}
