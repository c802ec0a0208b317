//! The command through a proxy that the environment names.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::{Arc, Mutex};

use crate::remote_network::{listening, pass_on, some_key};
use crate::remote_scene::Scene;
use crate::workbench::{Answer, check_refusal, tenure, text_of};

/// A name that no resolver knows: only a proxy finds the way.
const HOST: &str = "tenure.invalid";

/// A proxy that opens tunnels to one place, and refuses them without one.
struct Proxy {
    url: String,
    /// The heads of all requests.
    seen: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    fn start(way: Option<String>) -> Proxy {
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let heads = seen.clone();
        let url = listening("http", "127.0.0.1", move |mut stream| {
            let mut head = Vec::new();
            let mut byte = [0];
            // Byte by byte: what follows the head is for the other end.
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).expect("text");
            heads.lock().expect("no panic").push(head);
            match &way {
                Some(address) => {
                    stream.write_all(b"HTTP/1.1 200 Open\r\n\r\n").expect("it listens");
                    pass_on(stream, address);
                }
                None => {
                    let _ = stream.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
                }
            }
        });
        Proxy { url, seen }
    }

    fn with_password(&self) -> String {
        self.url.replace("http://", "http://ann:hush@")
    }

    fn take_seen(&self) -> Vec<String> {
        std::mem::take(&mut *self.seen.lock().expect("no panic"))
    }
}

fn asking(server: &str, (variable, proxy): (&str, &str), key: &str) -> Command {
    let mut command = tenure();
    command.args(["--server", server, "job", "list"]);
    command.env("TENURE_KEY", key).env(variable, proxy);
    command
}

#[tokio::test]
async fn a_tunnel_through_a_proxy_leads_to_the_server_and_hides_the_key() {
    let made = rcgen::generate_simple_self_signed([HOST.to_owned()]).expect("a certificate");
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str, text: String| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    let (certificate, secret) = (
        file("cert.pem", made.cert.pem()),
        file("key.pem", made.signing_key.serialize_pem()),
    );
    let scene = Scene::with(&["--tls-cert", &certificate, "--tls-key", &secret]).await;
    scene.bench.enqueue("a");
    let proxy = Proxy::start(Some(scene.api.url().replace("https://", "")));
    let server = format!("https://{HOST}");
    let list = || {
        let mut command = asking(&server, ("HTTPS_PROXY", &proxy.with_password()), &scene.key);
        command.args(["--quiet", "--ca-file", &certificate]);
        command
    };
    assert_eq!(Answer::of(&mut list()).ok().lines().count(), 1);
    let seen = proxy.take_seen();
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert!(
        seen[0].starts_with(&format!("CONNECT {HOST}:443 HTTP/1.1\r\n")),
        "{seen:?}"
    );
    assert!(
        seen[0].contains("Proxy-Authorization: Basic YW5uOmh1c2g=\r\n"),
        "{seen:?}"
    );
    assert!(!seen[0].contains("Bearer"), "{seen:?}");

    // A host that the environment leaves out is asked directly, and here nothing is known of it.
    let direct = Answer::of(list().env("NO_PROXY", "example.com,.invalid"));
    assert!(direct.err.starts_with("server_unreachable: "), "{direct:?}");
    assert_eq!(proxy.take_seen(), Vec::<String>::new());
}

#[test]
fn a_proxy_that_refuses_is_named_without_its_password() {
    let proxy = Proxy::start(None);
    let through = proxy.with_password();
    for variable in ["HTTPS_PROXY", "ALL_PROXY"] {
        let server = format!("https://{HOST}:8443");
        let refusal = check_refusal(
            || asking(&server, (variable, &through), &some_key()),
            "server_unreachable",
        );
        let why = text_of(&refusal, "why");
        assert!(why.contains(&proxy.url) && !why.contains("hush"), "{refusal}");
        assert!(
            proxy
                .take_seen()
                .iter()
                .all(|head| head.starts_with(&format!("CONNECT {HOST}:8443 ")))
        );
    }
    // Without TLS, where that is allowed, it is a tunnel too.
    let mut command = asking(&format!("http://{HOST}"), ("HTTP_PROXY", &through), &some_key());
    let answer = Answer::of(command.arg("--allow-plaintext"));
    assert!(answer.err.starts_with("server_unreachable: "), "{answer:?}");
    let seen = proxy.take_seen();
    assert!(
        seen.len() == 1 && seen[0].starts_with(&format!("CONNECT {HOST}:80 ")),
        "{seen:?}"
    );
}

#[test]
fn a_server_on_this_machine_is_asked_without_a_proxy() {
    let proxy = Proxy::start(None);
    let free = TcpListener::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("an address");
    for host in ["127.0.0.1", "localhost"] {
        let server = format!("http://{host}:{}", free.port());
        check_refusal(
            || asking(&server, ("ALL_PROXY", &proxy.url), &some_key()),
            "server_unreachable",
        );
    }
    assert_eq!(proxy.take_seen(), Vec::<String>::new());
}
