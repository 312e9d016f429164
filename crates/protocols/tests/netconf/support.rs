//! A NETCONF server without a network, and a client that sends bytes of its own choosing.

use std::sync::Arc;
use std::time::Duration;

use espalier_protocols::anchors::{AnchorLimits, AnchorName, DefaultAnchor, ServedAnchors};
use espalier_protocols::netconf::{
    BASE_1_0, BASE_1_1, BASE_NAMESPACE, Decoder, Element, Framing, Hello, MessageWriter,
    NetconfLimits, NetconfPeer, NetconfServer, Part, SessionEnd, UrlAccess, UrlSettings,
};
use espalier_protocols::restconf::RestconfConfig;
use espalier_service::access::Caller;
use espalier_service::configuration::ConfigurationTrees;
use espalier_service::session::{NewSession, SessionKind, Sessions, Transport};
use espalier_service::{AccessControl, LoginPolicy, Service, SessionDatastore};
use espalier_store::{Datastore, Store, SystemClock, Tree};
use espalier_yang::schema::{ModuleSource, SchemaSource};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// The longest that a test waits for a message.
const WAIT_MAX: Duration = Duration::from_secs(20);

pub const MODEL: &str = "module m {
  yang-version 1.1; namespace 'urn:m'; prefix m;
  container c {
    leaf title { type string; default none; must '. != \"forbidden\"'; }
    list e { key k; leaf k { type string; } leaf v { type uint8; }
      action reset { input { leaf delay { type uint8; } } output { leaf done { type boolean; } } } }
    leaf-list tag { type string; ordered-by user; }
  }
  notification alarm { leaf number { type uint32; } }
  rpc ping { input { leaf text { type string; } } output { leaf text { type string; } } }
}";

/// A server of an anchor with [`MODEL`].
pub struct Fixture {
    pub server: NetconfServer,
    pub service: Service,
    anchors: ServedAnchors,
    /// Running, without a session.
    pub tree: Tree,
    pub runtime: Runtime,
}

impl Fixture {
    pub fn new() -> Self {
        Self::with(NetconfLimits::default())
    }

    pub fn with(limits: NetconfLimits) -> Self {
        Self::of(&[MODEL], AccessControl::Off, limits)
    }

    /// A server of an anchor with these modules.
    pub fn of(modules: &[&str], control: AccessControl, limits: NetconfLimits) -> Self {
        let source = SchemaSource {
            modules: modules
                .iter()
                .map(|text| ModuleSource::from_text(*text).expect("a module"))
                .collect(),
            ..SchemaSource::default()
        };
        Self::of_source(&source, control, limits)
    }

    /// A server that may access the documents of URLs.
    pub fn with_urls(settings: &UrlSettings) -> Self {
        let mut fixture = Self::new();
        let urls = UrlAccess::new(settings).expect("right settings");
        fixture.server =
            NetconfServer::with_urls(fixture.anchors.clone(), NetconfLimits::default(), urls);
        fixture
    }

    /// A server of an anchor of a schema.
    pub fn of_source(source: &SchemaSource, control: AccessControl, limits: NetconfLimits) -> Self {
        let driver = espalier_drivers::open("memory:").expect("a driver");
        let store = Store::open(driver, Arc::new(SystemClock)).expect("a store");
        store.create_dataspace("d").expect("a dataspace");
        store.create_schema_set("d", "s", source).expect("modules");
        store.create_anchor("d", "a", "s").expect("an anchor");
        let tree = store.tree("d", "a", Datastore::Running).expect("a tree");
        let trees = ConfigurationTrees::new(store, Some(tree.clone()));
        let sessions = Sessions::new(Arc::new(SystemClock));
        let policy = LoginPolicy::default();
        let service = Service::new(trees, control, sessions, policy);
        let service = service.expect("a service");
        let default = DefaultAnchor {
            name: AnchorName::new("d", "a"),
            missing_hint: String::new(),
        };
        let config = RestconfConfig::default();
        let limits_of_anchors = AnchorLimits::default();
        let anchors = ServedAnchors::new(service.clone(), default, config, limits_of_anchors);
        let anchors = anchors.expect("anchors");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build();
        Self {
            server: NetconfServer::new(anchors.clone(), limits),
            anchors,
            service,
            tree,
            runtime: runtime.expect("a runtime"),
        }
    }

    /// Running, for a session of this process.
    pub fn running(&self) -> SessionDatastore {
        let session = self.service.sessions().unlisted(NewSession {
            caller: Caller::exempt(),
            transport: Transport::Library,
            peer: String::new(),
            kind: SessionKind::Connection,
            name: String::new(),
        });
        let anchor = self.service.open_anchor("d", "a").expect("an anchor");
        self.service.running(&session, &anchor)
    }

    /// A connection on which nothing was sent yet.
    pub fn connect(&self) -> Client<'_> {
        self.connect_as(Caller::exempt(), None)
    }

    /// A session of a client that the server called.
    pub fn call_home(&self, name: &str) -> Client<'_> {
        self.call_home_as(Caller::exempt(), name)
    }

    /// A session of a client that the server called, as a user.
    pub fn call_home_of(&self, user: &str, name: &str) -> Client<'_> {
        let user = user.to_owned();
        let caller = Caller {
            user,
            ..Caller::default()
        };
        self.call_home_as(caller, name)
    }

    fn call_home_as(&self, caller: Caller, name: &str) -> Client<'_> {
        let mut client = self.connect_as(caller, Some(name));
        client.greet(&[BASE_1_0, BASE_1_1]);
        client
    }

    /// A session of a user in `base:1.1`.
    pub fn session_of(&self, user: &str) -> Client<'_> {
        let caller = Caller {
            user: user.to_owned(),
            ..Caller::default()
        };
        let mut client = self.connect_as(caller, None);
        client.greet(&[BASE_1_0, BASE_1_1]);
        client
    }

    fn connect_as(&self, caller: Caller, call_home_client: Option<&str>) -> Client<'_> {
        let (own, other) = tokio::io::duplex(64 << 10);
        let server = self.server.clone();
        let peer = NetconfPeer {
            caller,
            transport: Transport::NetconfLocal,
            address: "test".to_owned(),
            call_home_client: call_home_client.map(Into::into),
        };
        let end = self
            .runtime
            .spawn(async move { server.serve(other, peer).await });
        Client {
            runtime: &self.runtime,
            stream: own,
            end,
            decoder: Decoder::new(),
            framing: Framing::EndOfMessage,
            received: Vec::new(),
            next_id: 0,
        }
    }

    /// A session in `base:1.1`.
    pub fn session(&self) -> Client<'_> {
        let mut client = self.connect();
        client.greet(&[BASE_1_0, BASE_1_1]);
        client
    }
}

/// A client.
pub struct Client<'f> {
    runtime: &'f Runtime,
    stream: DuplexStream,
    end: JoinHandle<SessionEnd>,
    decoder: Decoder,
    pub framing: Framing,
    received: Vec<u8>,
    next_id: u32,
}

impl Client<'_> {
    /// Exchanges the `hello` messages; returns that of the server.
    pub fn greet(&mut self, versions: &[&str]) -> String {
        let versions: Vec<String> = versions.iter().map(|&version| version.to_owned()).collect();
        let hello = self.receive().expect("a hello");
        self.send(&Hello::print(&versions, None));
        if versions.iter().any(|version| version == BASE_1_1) {
            self.expect_chunks();
        }
        hello
    }

    /// From now on messages have chunks.
    pub fn expect_chunks(&mut self) {
        self.framing = Framing::Chunked;
        self.decoder.set_framing(Framing::Chunked);
    }

    /// Sends bytes; an error is that of a connection that was closed.
    pub fn send_bytes(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.runtime.block_on(self.stream.write_all(bytes))
    }

    /// Sends a message.
    pub fn send(&mut self, text: &str) {
        let framed = framed(self.framing, text);
        self.send_bytes(&framed).expect("an open connection");
    }

    /// The next message; `None` if the server closed the connection.
    pub fn receive(&mut self) -> Option<String> {
        let mut message = Vec::new();
        loop {
            let mut input = &self.received[..];
            while let Some(part) = self.decoder.next(&mut input).expect("frames") {
                match part {
                    Part::Data(data) => message.extend_from_slice(data),
                    Part::End => {
                        self.received = input.to_vec();
                        return Some(String::from_utf8(message).expect("UTF-8"));
                    }
                }
            }
            let mut block = vec![0; 1 << 16];
            let read = self.stream.read(&mut block);
            let read = self
                .runtime
                .block_on(async { tokio::time::timeout(WAIT_MAX, read).await });
            match read.expect("a message in time").expect("a read") {
                0 => return None,
                read => self.received = block[..read].to_vec(),
            }
        }
    }

    /// The bytes up to the end of a message with a number, as they arrive.
    pub fn receive_bytes(&mut self, end: &[u8], messages: usize) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.received);
        while bytes.windows(end.len()).filter(|part| *part == end).count() < messages {
            let mut block = vec![0; 1 << 16];
            let read = self.stream.read(&mut block);
            let read = self
                .runtime
                .block_on(async { tokio::time::timeout(WAIT_MAX, read).await });
            let read = read.expect("a message in time").expect("a read");
            assert_ne!(read, 0, "the session ended");
            bytes.extend_from_slice(&block[..read]);
        }
        bytes
    }

    /// Sends a request; returns its number.
    pub fn send_request(&mut self, operation: &str) -> u32 {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&format!(
            "<rpc message-id=\"{id}\" xmlns=\"{BASE_NAMESPACE}\">{operation}</rpc>"
        ));
        id
    }

    /// Sends a request, and returns its reply.
    pub fn rpc(&mut self, operation: &str) -> String {
        let id = self.send_request(operation);
        let reply = self.receive().expect("a reply");
        let parsed = Element::parse(&reply).expect("XML");
        assert!(parsed.is(BASE_NAMESPACE, "rpc-reply"), "{reply}");
        assert_eq!(parsed.attributes[0].value, id.to_string(), "{reply}");
        reply
    }

    /// Sends a request that succeeds without output.
    pub fn ok(&mut self, operation: &str) {
        let reply = self.rpc(operation);
        assert!(reply.contains("<ok/>"), "{operation}: {reply}");
    }

    /// Sends a request that fails; returns the tag of the error.
    pub fn error(&mut self, operation: &str) -> String {
        let reply = self.rpc(operation);
        let tag = reply.split_once("<error-tag>");
        let tag = tag.and_then(|(_, rest)| rest.split_once('<'));
        let (tag, _) = tag.unwrap_or_else(|| panic!("{operation}: {reply}"));
        tag.to_owned()
    }

    /// The content of `data` in a reply.
    pub fn data(&mut self, operation: &str) -> String {
        let reply = self.rpc(operation);
        let begin = reply.find("<data").unwrap_or_else(|| panic!("{reply}"));
        let content = &reply[begin..];
        let begin = content.find('>').expect("a tag") + 1;
        let end = content.rfind("</data>").unwrap_or(begin);
        content[begin..end].to_owned()
    }

    /// Waits for the end of the session.
    pub fn end(self) -> SessionEnd {
        let Self {
            runtime,
            stream,
            end,
            ..
        } = self;
        let end = runtime.block_on(async { tokio::time::timeout(WAIT_MAX, end).await });
        drop(stream);
        end.expect("an end in time").expect("no panic")
    }

    /// Closes the connection, and waits for the end of the session.
    pub fn drop_connection(self) -> SessionEnd {
        let Self {
            runtime,
            stream,
            end,
            ..
        } = self;
        drop(stream);
        let end = runtime.block_on(async { tokio::time::timeout(WAIT_MAX, end).await });
        end.expect("an end in time").expect("no panic")
    }
}

/// A message with its frames.
pub fn framed(framing: Framing, text: &str) -> Vec<u8> {
    let mut frames = Vec::new();
    let mut writer = MessageWriter::new(framing, |frame| {
        frames.push(frame);
        Ok(())
    });
    std::io::Write::write_all(&mut writer, text.as_bytes()).expect("memory");
    writer.finish().expect("memory");
    frames.concat()
}
