//! HTTP for tests: a client that blocks, on a runtime of its own. A test may call it within its runtime and from threads beside it.

use std::error::Error;
use std::io::{self, Read};
use std::sync::LazyLock;
use std::sync::mpsc::channel;

use http_body_util::{BodyExt, Full};
use hyper::body::{Buf, Bytes, Incoming};
use hyper::{HeaderMap, Request};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::runtime::Runtime;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));

/// Runs it on the runtime of this client, and blocks until it is done.
fn wait<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let (sender, receiver) = channel();
    RUNTIME.spawn(async move { sender.send(work.await) });
    receiver.recv().expect("the work does not panic")
}

/// Sends requests. It keeps connections open, and follows no redirect.
#[derive(Clone)]
pub(crate) struct Agent(Client<HttpConnector, Full<Bytes>>);

impl Agent {
    pub(crate) fn new() -> Agent {
        Agent(Client::builder(TokioExecutor::new()).build_http())
    }

    /// The answer, whatever its status; an error where the server is gone.
    pub(crate) fn send(
        &self,
        (method, url): (&str, &str),
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> Result<Answer, Box<dyn Error + Send + Sync>> {
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::from(body.unwrap_or_default().to_owned()))?;
        let answer = wait(self.0.request(request))?;
        let (head, incoming) = answer.into_parts();
        Ok(Answer {
            status: head.status.as_u16(),
            headers: head.headers,
            body: Body {
                incoming: Some(incoming),
                chunk: Bytes::new(),
            },
        })
    }
}

/// Gets what is there, without a key.
pub(crate) fn get(url: &str) -> Answer {
    let answer = Agent::new().send(("GET", url), &[], None).expect("an answer");
    assert_eq!(answer.status, 200, "{url}");
    answer
}

/// What a server answered.
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: HeaderMap,
    /// The body as it comes.
    pub(crate) body: Body,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let value = self.headers.get(name)?;
        Some(value.to_str().expect("text"))
    }

    /// The whole body; an error where the server is gone before its end.
    pub(crate) fn text(mut self) -> io::Result<String> {
        let mut text = String::new();
        self.body.read_to_string(&mut text)?;
        Ok(text)
    }
}

/// A body that is read as it comes.
pub(crate) struct Body {
    /// None at its end.
    incoming: Option<Incoming>,
    /// What came and was not read yet.
    chunk: Bytes,
}

impl Read for Body {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.chunk.is_empty() {
            let Some(mut incoming) = self.incoming.take() else {
                return Ok(0);
            };
            let (incoming, frame) = wait(async move {
                let frame = incoming.frame().await;
                (incoming, frame)
            });
            let Some(frame) = frame else {
                return Ok(0);
            };
            self.chunk = frame.map_err(io::Error::other)?.into_data().unwrap_or_default();
            self.incoming = Some(incoming);
        }
        let count = self.chunk.len().min(into.len());
        self.chunk.copy_to_slice(&mut into[..count]);
        Ok(count)
    }
}
