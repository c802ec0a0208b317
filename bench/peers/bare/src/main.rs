//! The limit of what PostgreSQL does: claim with SKIP LOCKED, delete, nothing else. The end of one batch and the claim of
//! the next are one pipelined transaction. With `--payload` the row carries the payload and the claim returns it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use anyhow::Result;
use bench_runner::tokio_postgres::types::ToSql;
use bench_runner::tokio_postgres::{Client, Statement};
use bench_runner::{Options, PAYLOAD, Peer, connect, handled_many};
use serde_json::Value;

const CONNECTIONS: usize = 2;
const CLAIM_ROWS: i64 = 500;
/// How long a worker that found nothing waits; only the sustained run meets it.
const IDLE: Duration = Duration::from_millis(1);

struct Bare {
    payload: bool,
    producer: Client,
    insert: Statement,
    insert_many: Statement,
    workers: Vec<Worker>,
    next_id: AtomicI64,
}

struct Worker {
    client: Client,
    claim: Statement,
    end: Statement,
}

impl Peer for Bare {
    const SYSTEM: &'static str = "bare";
    type Batch = (Vec<i64>, Vec<&'static str>);
    const UNFINISHED: &'static str = "select exists (select from q)";

    fn settings(&self) -> String {
        let row = if self.payload { "row with payload" } else { "narrow row" };
        format!("{CONNECTIONS} connections, batch {CLAIM_ROWS}, {row}")
    }

    async fn open(options: &Options) -> Result<Bare> {
        let payload = options.own.iter().any(|word| word == "--payload");
        let producer = connect(&options.url).await?;
        let (column, returned) = if payload {
            (", payload jsonb", ", q.payload")
        } else {
            ("", "")
        };
        producer
            .batch_execute(&format!(
                "create table if not exists q (id bigint primary key, state smallint not null default 0{column})
                 with (vacuum_truncate = off, autovacuum_vacuum_cost_delay = 0);
                 create index if not exists q_ready on q (id) where state = 0;"
            ))
            .await?;
        let (insert, insert_many) = if payload {
            (
                "insert into q (id, payload) values ($1, $2::text::jsonb)",
                "insert into q (id, payload) select i, p::jsonb from unnest($1::bigint[], $2::text[]) t (i, p)",
            )
        } else {
            (
                "insert into q (id) select $1 where $2::text is not null",
                "insert into q (id) select i from unnest($1::bigint[]) i where $2::text[] is not null",
            )
        };
        let (insert, insert_many) = (producer.prepare(insert).await?, producer.prepare(insert_many).await?);
        let claim = format!(
            "update q set state = 1
             from (select id from q where state = 0 order by id limit $1 for update skip locked) s
             where q.id = s.id
             returning q.id{returned}"
        );
        let mut workers = Vec::new();
        for _ in 0..CONNECTIONS {
            let client = connect(&options.url).await?;
            let claim = client.prepare(&claim).await?;
            let end = client
                .prepare("delete from q where id = any($1::bigint[]) and state = 1")
                .await?;
            workers.push(Worker { client, claim, end });
        }
        Ok(Bare {
            payload,
            producer,
            insert,
            insert_many,
            workers,
            next_id: AtomicI64::new(1),
        })
    }

    fn batch(&self, jobs: usize) -> Self::Batch {
        let first = self.next_id.fetch_add(jobs as i64, Ordering::Relaxed);
        let payloads = vec![PAYLOAD; if self.payload { jobs } else { 0 }];
        ((first..first + jobs as i64).collect(), payloads)
    }

    async fn enqueue_many(&self, (ids, payloads): Self::Batch) -> Result<()> {
        self.producer.execute(&self.insert_many, &[&ids, &payloads]).await?;
        Ok(())
    }

    async fn enqueue_one(&self) -> Result<()> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.producer.execute(&self.insert, &[&id, &PAYLOAD]).await?;
        Ok(())
    }

    async fn work(&self) -> Result<()> {
        let [one, other] = &self.workers[..] else {
            unreachable!("as many as CONNECTIONS")
        };
        tokio::try_join!(one.run(self.payload), other.run(self.payload))?;
        Ok(())
    }
}

impl Worker {
    async fn run(&self, payload: bool) -> Result<()> {
        let mut held: Vec<i64> = Vec::new();
        loop {
            let (done, wanted): ([&(dyn ToSql + Sync); 1], [&(dyn ToSql + Sync); 1]) = ([&held], [&CLAIM_ROWS]);
            // Sent in this order, without waiting between them.
            let (begun, ended, claimed, committed) = tokio::join!(
                biased;
                self.client.batch_execute("begin"),
                self.client.execute(&self.end, &done),
                self.client.query(&self.claim, &wanted),
                self.client.batch_execute("commit"),
            );
            begun?;
            ended?;
            let claimed = claimed?;
            committed?;
            if claimed.is_empty() && held.is_empty() {
                tokio::time::sleep(IDLE).await;
            }
            held = claimed.iter().map(|row| row.get(0)).collect();
            if payload {
                // Read as a handler would.
                claimed.iter().for_each(|row| drop(row.get::<_, Value>(1)));
            }
            handled_many(held.len());
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    bench_runner::main::<Bare>().await
}
