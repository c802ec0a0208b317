//! What can go wrong between the command and a server.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::odd_requests::texts_within_texts;
use crate::remote_scene::Scene;
use crate::workbench::{Answer, check_refusal, tenure, text_of};

/// A key that looks like one.
pub(crate) fn some_key() -> String {
    format!("tnr_{}_{}", "a".repeat(13), "b".repeat(52))
}

fn asking(server: &str, args: &[&str]) -> Command {
    let mut command = tenure();
    command
        .args(["--server", server])
        .args(args)
        .env("TENURE_KEY", some_key());
    command
}

/// Somebody who listens, and does this with whoever comes; answers its URL.
pub(crate) fn listening(scheme: &str, host: &str, serve: impl Fn(TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream));
        }
    });
    format!("{scheme}://{host}:{port}")
}

/// Reads the head of a request, and says this.
fn answering(head: &'static str, body: impl Into<String>) -> String {
    let body = body.into();
    listening("http", "127.0.0.1", move |mut stream| {
        let mut seen = [0; 4096];
        let _ = stream.read(&mut seen);
        let length = body.len();
        let _ = write!(
            stream,
            "HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
    })
}

#[test]
fn a_server_that_is_not_there_is_told_as_such() {
    let free = TcpListener::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("an address");
    for server in [&format!("http://{free}"), "https://nobody.invalid"] {
        let what = format!("The server {server} cannot be reached.");
        let next = "Check the address, and that `tenure serve` runs there.";
        let refusal = check_refusal(|| asking(server, &["job", "list"]), "server_unreachable");
        assert_eq!(
            (text_of(&refusal, "what"), text_of(&refusal, "next")),
            (what.clone(), next.to_owned())
        );
        // Nothing was sent, so nothing can have changed.
        let change = Answer::of(&mut asking(server, &["job", "enqueue", "k"]));
        assert!(change.err.contains(&what) && change.err.contains(next), "{change:?}");
    }
    for wrong in [
        "nonsense",
        "ftp://x",
        "http://",
        "http://ann@x",
        "https://x?a=b",
        "postgres://x/y",
    ] {
        let refusal = check_refusal(|| asking(wrong, &["job", "list"]), "usage");
        assert!(text_of(&refusal, "next").contains("https://"), "{refusal}");
    }
}

#[test]
fn what_is_no_tenure_server_is_not_believed() {
    let cases = [
        answering("200 OK\r\ncontent-type: text/html", "<html>welcome</html>"),
        answering("502 Bad Gateway\r\ncontent-type: text/html", "<html>oops</html>"),
        answering("200 OK\r\ncontent-type: application/json", "{\"hello\": [1"),
        answering("200 OK\r\ncontent-type: application/json", "{\"jobs\": \"none\"}"),
        answering("500 Oops\r\ncontent-type: application/json", "{\"error\": \"mine\"}"),
        answering("204 No Content", ""),
        answering(
            "200 OK\r\ncontent-type: application/json",
            format!("{{\"jobs\": {}}}", texts_within_texts(60)),
        ),
        listening("http", "127.0.0.1", |mut stream| {
            let _ = stream.write_all(b"220 mail.example ESMTP\r\n");
        }),
    ];
    for server in &cases {
        check_refusal(|| asking(server, &["job", "list"]), "server_not_tenure");
    }
}

#[test]
fn a_redirect_is_not_followed_and_the_key_goes_nowhere_else() {
    let visits = Arc::new(AtomicUsize::new(0));
    let seen = visits.clone();
    let elsewhere = listening("http", "127.0.0.1", move |_| {
        seen.fetch_add(1, Ordering::SeqCst);
    });
    let there = elsewhere.clone();
    let server = listening("http", "127.0.0.1", move |mut stream| {
        let _ = stream.read(&mut [0; 4096]);
        let _ = write!(
            stream,
            "HTTP/1.1 307 Moved\r\nlocation: {there}/v1/jobs\r\ncontent-length: 0\r\n\r\n"
        );
    });
    for args in [&["job", "list"][..], &["job", "enqueue", "a"]] {
        let refusal = check_refusal(|| asking(&server, args), "server_not_tenure");
        assert!(text_of(&refusal, "why").contains(&elsewhere), "{refusal}");
    }
    assert_eq!(visits.load(Ordering::SeqCst), 0);
}

#[test]
fn a_server_that_says_nothing_is_not_waited_for_without_end() {
    let silent = listening("http", "127.0.0.1", |mut stream| {
        while stream.read(&mut [0; 4096]).is_ok_and(|n| n > 0) {}
    });
    let refusal = check_refusal(
        || asking(&silent, &["--timeout", "1", "job", "list"]),
        "server_unreachable",
    );
    assert!(text_of(&refusal, "next").contains("--timeout"), "{refusal}");
    let refusal = check_refusal(
        || asking(&silent, &["--timeout", "1", "job", "enqueue", "a"]),
        "server_unreachable",
    );
    assert!(text_of(&refusal, "why").contains("not known whether"), "{refusal}");
}

#[test]
fn a_key_is_not_sent_in_the_clear_to_another_machine() {
    for server in ["http://tenure.example", "http://192.0.2.1:7373"] {
        let refusal = check_refusal(|| asking(server, &["job", "list"]), "server_tls");
        assert!(text_of(&refusal, "next").contains("--allow-plaintext"), "{refusal}");
    }
}

/// Passes bytes on, both ways, until one side ends.
pub(crate) fn pass_on(mut from: TcpStream, to: &str) {
    let mut to = TcpStream::connect(to).expect("the server");
    let (mut back_from, mut back_to) = (to.try_clone().expect("a clone"), from.try_clone().expect("a clone"));
    let back = std::thread::spawn(move || {
        let _ = std::io::copy(&mut back_from, &mut back_to);
        let _ = back_to.shutdown(Shutdown::Both);
    });
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
    let _ = back.join();
}

#[tokio::test]
async fn an_answer_that_is_lost_makes_no_second_job() {
    let scene = Scene::open().await;
    let address = scene.api.url().replace("http://", "");
    let visits = Arc::new(AtomicUsize::new(0));
    let count = visits.clone();
    // The first two answers are lost: the request is carried out, and nobody hears of it.
    let flaky = listening("http", "127.0.0.1", move |mut stream| {
        if count.fetch_add(1, Ordering::SeqCst) % 3 == 2 {
            return pass_on(stream, &address);
        }
        let mut server = TcpStream::connect(&address).expect("the server");
        let mut seen = [0; 8192];
        let mut request = Vec::new();
        while !String::from_utf8_lossy(&request).trim_end().ends_with('}') {
            let read = stream.read(&mut seen).expect("a request");
            request.extend_from_slice(&seen[..read]);
        }
        server.write_all(&request).expect("it listens");
        let _ = server.read(&mut seen).expect("an answer");
    });
    let enqueue = |args: &[&str]| {
        let mut command = tenure();
        command
            .args(["--server", &flaky, "job", "enqueue", "a", "--json"])
            .args(args);
        Answer::of(command.env("TENURE_KEY", &scene.key))
    };
    // The job may have a key or none: the request has one, and the third try gets the answer of the first.
    for (jobs, args) in [(1, &["--key", "order-7"][..]), (2, &[])] {
        let made = enqueue(args).ok();
        assert!(made.contains(r#""duplicate":false"#), "{made}");
        assert_eq!(visits.load(Ordering::SeqCst), 3 * jobs);
        assert_eq!(scene.bench.lines(&["job", "list"]).len(), jobs);
    }
}

fn certificate(name: &str) -> String {
    format!("{}/../tenure/tests/tls/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// TLS before the server, with a certificate for `localhost`.
fn encrypted(host: &str, plain: &str) -> String {
    let chain: Vec<_> = CertificateDer::pem_file_iter(certificate("server.pem"))
        .expect("certificates")
        .collect::<Result<_, _>>()
        .expect("certificates");
    let key = PrivateKeyDer::from_pem_file(certificate("server.key")).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("a certificate");
    let (config, plain) = (Arc::new(config), plain.replace("http://", ""));
    listening("https", host, move |stream| {
        let session = rustls::ServerConnection::new(config.clone()).expect("a session");
        let mut client = rustls::StreamOwned::new(session, stream);
        let mut request = Vec::new();
        let mut seen = [0; 8192];
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            match client.read(&mut seen) {
                Ok(read @ 1..) => request.extend_from_slice(&seen[..read]),
                _ => return,
            }
        }
        let mut server = TcpStream::connect(&plain).expect("the server");
        let text = String::from_utf8(request)
            .expect("text")
            .replacen("\r\n", "\r\nconnection: close\r\n", 1);
        server.write_all(text.as_bytes()).expect("it listens");
        let mut answer = Vec::new();
        server.read_to_end(&mut answer).expect("an answer");
        let _ = client.write_all(&answer).and_then(|()| client.flush());
        client.conn.send_close_notify();
        let _ = client.flush();
    })
}

#[tokio::test]
async fn certificates_are_checked_and_an_authority_of_our_own_can_be_named() {
    let scene = Scene::open().await;
    scene.bench.enqueue("a");
    let server = encrypted("localhost", scene.api.url());
    let list = |server: &str, authority: Option<&str>| {
        let mut command = tenure();
        command.args(["--server", server, "--quiet", "job", "list"]);
        if let Some(name) = authority {
            command.arg("--ca-file").arg(certificate(name));
        }
        command.env("TENURE_KEY", &scene.key);
        command
    };
    assert_eq!(Answer::of(&mut list(&server, Some("root.pem"))).ok().lines().count(), 1);
    let plain = |command: Command| {
        // Only what is said: --quiet and --json do not go together.
        let mut command = command;
        Answer::of(&mut command)
    };
    for (server, authority) in [
        (server.clone(), None),
        (server.clone(), Some("other.pem")),
        (server.replace("localhost", "127.0.0.1"), Some("root.pem")),
        (scene.api.url().replace("http:", "https:"), Some("root.pem")),
        (server.clone(), Some("server.key")),
        (server.clone(), Some("nothing")),
    ] {
        let refused = plain(list(&server, authority));
        assert_eq!(refused.exit, 7, "{authority:?}: {refused:?}");
        assert!(refused.err.starts_with("server_tls: "), "{authority:?}: {refused:?}");
    }
    // And a server that speaks TLS is not asked without.
    let unencrypted = plain(list(&server.replace("https:", "http:"), None));
    assert!(
        unencrypted.exit == 7 && !unencrypted.err.contains(&scene.key),
        "{unencrypted:?}"
    );
}
