//! TLS, over real sockets.

use std::fs::Permissions;
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use nix::sys::signal::Signal;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion};
use tempfile::TempDir;

use crate::served::{Served, Wire};
use crate::workbench::{Workbench, check_refusal, eventually};

/// In seconds: soon over, and long enough for whoever is not slow on purpose.
const SHORT: &str = "3";

/// A certificate for this machine, in files.
struct Identity {
    directory: TempDir,
    made: rcgen::CertifiedKey<rcgen::KeyPair>,
}

impl Identity {
    fn new() -> Identity {
        let identity = Identity {
            directory: tempfile::tempdir().expect("a directory"),
            made: Identity::made(),
        };
        identity.write();
        identity
    }

    fn made() -> rcgen::CertifiedKey<rcgen::KeyPair> {
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate")
    }

    fn write(&self) {
        std::fs::write(self.cert(), self.made.cert.pem()).expect("write");
        std::fs::write(self.key(), self.made.signing_key.serialize_pem()).expect("write");
        std::fs::set_permissions(self.key(), Permissions::from_mode(0o600)).expect("chmod");
    }

    /// Another one, in the same files.
    fn renew(&mut self) {
        self.made = Identity::made();
        self.write();
    }

    fn cert(&self) -> PathBuf {
        self.directory.path().join("cert.pem")
    }

    fn key(&self) -> PathBuf {
        self.directory.path().join("key.pem")
    }

    fn arguments(&self) -> [String; 4] {
        let path = |path: PathBuf| path.display().to_string();
        [
            "--tls-cert".into(),
            path(self.cert()),
            "--tls-key".into(),
            path(self.key()),
        ]
    }

    /// A connection of somebody who trusts this certificate alone.
    fn connect(
        &self,
        server: &Served,
        protocol: &str,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Wire<StreamOwned<ClientConnection, TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.made.cert.der().clone()).expect("a root");
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(versions)
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let name = ServerName::try_from("localhost").expect("a name");
        let connection = ClientConnection::new(Arc::new(config), name).expect("a client");
        let socket = server.connect().0.into_inner();
        Wire(BufReader::new(StreamOwned::new(connection, socket)))
    }

    /// Whether the server has this certificate now.
    fn is_shown_by(&self, server: &Served) -> bool {
        let mut stream = self.connect(server, "http/1.1", &[&TLS13]).0.into_inner();
        stream.conn.complete_io(&mut stream.sock).is_ok()
    }
}

fn start(bench: &Workbench, identity: &Identity, arguments: &[&str]) -> Served {
    let tls = identity.arguments();
    let tls = tls.iter().map(String::as_str);
    Served::start(bench, &tls.chain(arguments.iter().copied()).collect::<Vec<_>>())
}

#[tokio::test]
async fn a_server_with_a_certificate_speaks_tls_and_nothing_else() {
    let bench = Workbench::open().await;
    let identity = Identity::new();
    let server = start(&bench, &identity, &["--handshake-seconds", SHORT]);
    assert_eq!(server.ready["ready"], format!("https://{}", server.address));
    for versions in [&[&TLS13], &[&TLS12]] {
        let mut wire = identity.connect(&server, "http/1.1", versions);
        assert_eq!(wire.get("/healthz").status, 200);
        assert_eq!(wire.get("/healthz").status, 200, "more than once on one connection");
    }
    let mut plain = server.connect();
    plain.get("/healthz").refused(400, "request_invalid");
    assert_eq!(plain.rest(), "");
    assert_eq!(server.talk(b""), "", "who says nothing is cut off");
    assert_eq!(server.talk(b"\x16\x03"), "", "who does not go on, too");
}

#[tokio::test]
async fn who_can_be_reached_by_others_without_tls_is_warned() {
    let bench = Workbench::open().await;
    let everywhere = ["--listen", "0.0.0.0:0"];
    let warned = |server: &Served| {
        eventually("its log", || Some(server.log()).filter(|log| log.contains("serving")))
            .contains("nothing is encrypted")
    };
    assert!(warned(&Served::start(&bench, &everywhere)));
    assert!(!warned(&Served::start(&bench, &[])));
    assert!(!warned(&start(&bench, &Identity::new(), &everywhere)));
}

#[tokio::test]
async fn http_2_is_spoken_where_the_client_prefers_it() {
    let bench = Workbench::open().await;
    let identity = Identity::new();
    let mut server = start(&bench, &identity, &[]);
    let mut wire = identity.connect(&server, "h2", &[&TLS13]);
    let request = [opening(&[]), head("/healthz")].concat();
    wire.send(&request);
    assert_eq!(wire.0.get_ref().conn.alpn_protocol(), Some(&b"h2"[..]));
    let answer = loop {
        let (kind, payload) = frame(&mut wire).expect("it is not closed");
        if kind == HEADERS {
            break payload;
        }
    };
    assert_eq!(answer[0], 0x88, "200, from the static table");
    server.signal(Signal::SIGTERM);
    while frame(&mut wire).is_some() {}
    assert!(server.ended().success());
    assert!(!server.log().contains("cut off"), "{}", server.log());
}

#[tokio::test]
async fn who_holds_a_connection_of_http_2_for_nothing_is_cut_off() {
    let bench = Workbench::open().await;
    let identity = Identity::new();
    let server = start(&bench, &identity, &["--head-seconds", SHORT, "--write-seconds", SHORT]);
    let mut idle = identity.connect(&server, "h2", &[&TLS13]);
    idle.send(&opening(&[]));
    while frame(&mut idle).is_some() {}
    // A window of nothing: the answer is there, and cannot be sent.
    let mut shut = identity.connect(&server, "h2", &[&TLS13]);
    shut.send(&[opening(&[0, 4, 0, 0, 0, 0]), head("/openapi.json")].concat());
    let mut answered = false;
    while let Some((kind, _)) = frame(&mut shut) {
        answered |= kind == HEADERS;
    }
    assert!(answered);
}

/// How a client of HTTP/2 begins, with these settings.
fn opening(settings: &[u8]) -> Vec<u8> {
    let length = settings.len() as u8;
    let frame = [0, 0, length, SETTINGS, 0, 0, 0, 0, 0];
    [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frame, settings].concat()
}

/// The first request of a connection: GET, https, the path and the host, from the static table of HPACK.
fn head(path: &str) -> Vec<u8> {
    let length = path.len() as u8;
    let fields = [&[0x82, 0x87, 0x04, length], path.as_bytes(), &[0x01, 4], b"here"].concat();
    let frame = [0, 0, fields.len() as u8, HEADERS, 0x05, 0, 0, 0, 1];
    [&frame[..], &fields].concat()
}

const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;

/// The kind and the payload of the next frame, until the connection is closed; answered where the protocol wants it.
fn frame(wire: &mut Wire<impl Read + Write>) -> Option<(u8, Vec<u8>)> {
    let mut head = [0; 9];
    wire.0.read_exact(&mut head).ok()?;
    let mut payload = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
    wire.0.read_exact(&mut payload).ok()?;
    let (kind, acknowledged) = (head[3], head[4] & 1 == 1);
    if kind == SETTINGS && !acknowledged {
        wire.send(&[0, 0, 0, SETTINGS, 1, 0, 0, 0, 0]);
    }
    if kind == PING && !acknowledged {
        wire.send(&[&[0, 0, 8, PING, 1, 0, 0, 0, 0], payload.as_slice()].concat());
    }
    Some((kind, payload))
}

#[tokio::test]
async fn a_renewed_certificate_is_taken_without_a_restart() {
    let bench = Workbench::open().await;
    let mut identity = Identity::new();
    let server = start(&bench, &identity, &[]);
    let mut old = identity.connect(&server, "http/1.1", &[&TLS13]);
    assert_eq!(old.get("/healthz").status, 200);
    // A key that does not belong to it changes nothing.
    std::fs::write(identity.key(), Identity::made().signing_key.serialize_pem()).expect("write");
    server.signal(Signal::SIGHUP);
    eventually("a warning", || {
        let told = server.log().contains("the old certificate stays in force");
        told.then_some(())
    });
    assert!(identity.is_shown_by(&server));
    identity.renew();
    server.signal(Signal::SIGHUP);
    eventually("the new one", || identity.is_shown_by(&server).then_some(()));
    assert_eq!(old.get("/healthz").status, 200, "who is connected stays connected");
    identity.renew();
    eventually("the next, without a signal", || {
        identity.is_shown_by(&server).then_some(())
    });
}

#[tokio::test]
async fn a_certificate_that_cannot_be_used_is_refused_at_the_start() {
    let bench = Workbench::open().await;
    let (identity, other) = (Identity::new(), Identity::new());
    let [cert, key] = [identity.cert(), other.key()].map(|path| path.display().to_string());
    for (cert, key) in [
        (Some(cert.as_str()), None),
        (None, Some(key.as_str())),
        (Some(cert.as_str()), Some(key.as_str())),
        (Some("/nowhere"), Some(key.as_str())),
        (Some(key.as_str()), Some(key.as_str())),
        (Some(cert.as_str()), Some(cert.as_str())),
    ] {
        let refusal = || {
            let mut command = bench.command(["serve", "--listen", "127.0.0.1:0"]);
            for (option, value) in [("--tls-cert", cert), ("--tls-key", key)] {
                if let Some(value) = value {
                    command.args([option, value]);
                }
            }
            command
        };
        check_refusal(refusal, "config_invalid");
    }
}

#[tokio::test]
async fn browsers_are_told_to_come_encrypted_only_where_the_server_says_so() {
    let bench = Workbench::open().await;
    let identity = Identity::new();
    let arguments = identity.arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let silent = Served::start(&bench, &arguments);
    let reply = identity.connect(&silent, "http/1.1", &[&TLS13]).get("/healthz");
    assert!(!reply.head.contains("strict-transport-security"), "{}", reply.head);
    let strict = Served::start(&bench, &[&arguments[..], &["--hsts-seconds", "86400"]].concat());
    for path in ["/healthz", "/v1/jobs", "/nothing"] {
        let reply = identity.connect(&strict, "http/1.1", &[&TLS13]).get(path);
        let header = "strict-transport-security: max-age=86400\r\n";
        assert!(reply.head.contains(header), "{path}: {}", reply.head);
    }
    check_refusal(
        || bench.command(["serve", "--listen", "127.0.0.1:0", "--hsts-seconds", "86400"]),
        "config_invalid",
    );
}
