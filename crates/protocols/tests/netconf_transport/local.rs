//! Local clients: Unix sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use espalier_protocols::netconf::transport::serve_unix_socket;
use tokio::net::UnixListener;

use crate::support::{Server, audit, limits, service};

#[test]
fn the_user_of_a_unix_socket_is_that_of_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("netconf.sock");
    let mut server = Server::silent(service(&[], Vec::new()), limits(), folder);
    let listener = {
        let _context = server.runtime.enter();
        UnixListener::bind(&path).unwrap()
    };
    let context = server.context.clone();
    server.spawn(serve_unix_socket(listener, context));
    let name = crate::support::run(std::process::Command::new("id").arg("-un"));
    let expected = format!("hello {} netconf-local ", name.trim());
    for _ in 0..50 {
        let mut stream = UnixStream::connect(&path).unwrap();
        let mut output = BufReader::new(stream.try_clone().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end_matches('\n'), expected);
        stream.write_all(b"one\nsend 100000\n").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut rest = Vec::new();
        output.read_to_end(&mut rest).unwrap();
        assert_eq!(rest.len(), 4 + 100_000);
    }
    server.assert_idle();
    // One record, as for HTTP: the logins are the same.
    assert_eq!(audit(&server.service).len(), 1);
}
