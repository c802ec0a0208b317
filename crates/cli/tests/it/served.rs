//! A `tenure serve` with settings of its own, and bare sockets to it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use crate::workbench::{Workbench, eventually, tenure};

/// Longer than any limit that a test sets; who waits for so long waits for nothing.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server on the workbench's database; killed with this value.
pub(crate) struct Served {
    child: Child,
    pub(crate) address: SocketAddr,
    /// What it printed when it was ready.
    pub(crate) ready: Value,
    directory: TempDir,
}

impl Served {
    pub(crate) fn start(bench: &Workbench, arguments: &[&str]) -> Served {
        Served::run(bench.command(["serve"]), arguments)
    }

    /// Without a word about the database.
    pub(crate) fn start_bare(arguments: &[&str]) -> Served {
        let mut command = tenure();
        command.arg("serve");
        Served::run(command, arguments)
    }

    fn run(mut command: Command, arguments: &[&str]) -> Served {
        let directory = tempfile::tempdir().expect("a directory");
        let log = File::create(directory.path().join("log")).expect("a log");
        if !arguments.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.arg("--json").args(arguments).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().expect("run");
        let mut line = String::new();
        let output = child.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let ready: Value = serde_json::from_str(&line).expect("what it says when it is ready");
        let url = ready["ready"].as_str().expect("an address");
        let (_, address) = url.split_once("://").expect("a URL");
        Served {
            child,
            address: address.parse().expect("an address"),
            ready,
            directory,
        }
    }

    /// All that it has logged.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).expect("its log")
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = self.child.id().try_into().expect("a process id");
        kill(Pid::from_raw(pid), signal).expect("the signal is sent");
    }

    /// Waits until it has ended.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        eventually("the server's end", || self.child.try_wait().expect("its state"))
    }

    pub(crate) fn connect(&self) -> Wire<TcpStream> {
        let stream = TcpStream::connect(self.address).expect("connect");
        stream.set_read_timeout(Some(PATIENCE)).expect("patience");
        stream.set_write_timeout(Some(PATIENCE)).expect("patience");
        Wire(BufReader::new(stream))
    }

    /// Sends this on a connection of its own, and answers what comes until it is closed.
    pub(crate) fn talk(&self, bytes: &[u8]) -> String {
        let mut wire = self.connect();
        wire.send(bytes);
        wire.rest()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Bytes to and fro, and answers in HTTP/1.1.
pub(crate) struct Wire<S: Read + Write>(pub(crate) BufReader<S>);

/// An answer of a server.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// In lower case, a line per header.
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl<S: Read + Write> Wire<S> {
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).expect("it reads");
        self.0.get_mut().flush().expect("it reads");
    }

    /// One request without a body.
    pub(crate) fn get(&mut self, path: &str) -> Reply {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: here\r\n\r\n").as_bytes());
        self.reply()
    }

    /// The next answer.
    pub(crate) fn reply(&mut self) -> Reply {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(
                self.0.read_line(&mut head).expect("a line"),
                0,
                "the answer has no end: {head:?}"
            );
        }
        let head = head.to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a length"))];
        self.0.read_exact(&mut body).expect("the body");
        Reply {
            status: head[9..12].parse().expect("a status"),
            body: serde_json::from_slice(&body).unwrap_or_default(),
            head,
        }
    }

    /// All that comes until it is closed. A connection that is cut may lose what was on its way.
    pub(crate) fn rest(mut self) -> String {
        let (mut bytes, mut some) = (Vec::new(), [0; 1024]);
        loop {
            match self.0.read(&mut some) {
                Ok(0) => break,
                Ok(read) => bytes.extend_from_slice(&some[..read]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("it is not closed: {bytes:?}"),
                Err(_) => break,
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Reply {
    /// Checks that it is a refusal with this code.
    pub(crate) fn refused(&self, status: u16, code: &str) {
        assert_eq!(
            (self.status, self.body["code"].as_str()),
            (status, Some(code)),
            "{self:?}"
        );
        assert!(self.head.contains("content-type: application/problem+json"), "{self:?}");
    }
}
