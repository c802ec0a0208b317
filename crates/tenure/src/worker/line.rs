//! A line to the database: one connection, kept while it is good.

use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::Client;

use super::trouble::{Trouble, unanswered};
use crate::error::Result;
use crate::pool::{Connection, Pool};

/// Asks one question after the other.
pub(super) struct Line {
    pool: Pool,
    kept: Option<Connection>,
}

impl Line {
    pub(super) fn new(pool: Pool) -> Line {
        Line { pool, kept: None }
    }

    /// Asks, and waits so long for the answer. After an error of the connection the next question gets a new one.
    pub(super) async fn ask<T>(
        &mut self,
        patience: Duration,
        question: impl AsyncFnOnce(&Client) -> Result<T>,
    ) -> Result<T> {
        let kept = self.kept.take().filter(|connection| !connection.is_closed());
        let answer = timeout(patience, async {
            let connection = match kept {
                Some(connection) => connection,
                None => self.pool.get().await?,
            };
            let mut asked = Asked(Some(connection));
            let answer = question(asked.client()).await;
            let broken = matches!(&answer, Err(error) if Trouble::of(error) == Trouble::Connection);
            if !broken {
                self.kept = asked.0.take();
            }
            answer
        });
        answer.await.unwrap_or_else(|_| Err(unanswered(patience)))
    }
}

/// A connection with a question that may be unanswered: closed unless it is taken out, so that nobody else gets it.
struct Asked(Option<Connection>);

impl Asked {
    fn client(&self) -> &Client {
        self.0.as_deref().expect("it is taken out only when all is asked")
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            connection.discard();
        }
    }
}
