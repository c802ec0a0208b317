//! What the server says of itself. A benchmark measures the database below the schema, so it asks the catalogue, one
//! line each, and changes nothing but statistics.

use serde::Serialize;
use serde_json::Value;
use tenure::store::health;
use tokio_postgres::types::{FromSqlOwned, Type};
use tokio_postgres::{Client, Row};

use super::load::KIND;
use crate::errors::Outcome;

const VACUUM: &str = "vacuum (analyze) tenure.jobs, tenure.ready, tenure.delayed, tenure.active, tenure.leases, \
                      tenure.attempts, tenure.idempotency, tenure.events, tenure.schedules, tenure.planned_slots, \
                      tenure.execution_states, tenure.step_states, tenure.step_needs, tenure.execution_events, tenure.approvals, \
                      tenure.locks, tenure.lock_targets";

/// A connection for questions.
pub(super) struct Server {
    client: Client,
}

/// What a figure is worth nothing without.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ServerFacts {
    pub(super) version: String,
    pub(super) fsync: String,
    pub(super) synchronous_commit: String,
    pub(super) shared_buffers: String,
    pub(super) max_wal_size: String,
    pub(super) autovacuum_naptime: String,
}

/// What only grows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counters {
    /// Bytes of write-ahead log ever written.
    pub(super) wal_bytes: i64,
    /// Transactions that ever wrote something; one within another counts too.
    pub(super) transactions: i64,
}

impl Server {
    pub(super) async fn connect(url: &str) -> Outcome<Server> {
        let client = tenure::pool::connect(url).await?;
        Ok(Server { client })
    }

    pub(super) async fn facts(&self) -> Outcome<ServerFacts> {
        // Without the name of whoever packaged it.
        let version = self.setting("server_version").await?;
        Ok(ServerFacts {
            version: version.split(' ').next().unwrap_or_default().to_owned(),
            fsync: self.setting("fsync").await?,
            synchronous_commit: self.setting("synchronous_commit").await?,
            shared_buffers: self.setting("shared_buffers").await?,
            max_wal_size: self.setting("max_wal_size").await?,
            autovacuum_naptime: self.setting("autovacuum_naptime").await?,
        })
    }

    pub(super) async fn counters(&self) -> Outcome<Counters> {
        let row = self
            .row(
                "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::int8, \
                 pg_snapshot_xmax(pg_current_snapshot())::text::int8",
            )
            .await?;
        Ok(Counters {
            wal_bytes: get(&row, 0)?,
            transactions: get(&row, 1)?,
        })
    }

    /// Brings statistics up to date and begins a new checkpoint, so that neither falls into the measurement. Answers what
    /// it was not allowed to do.
    pub(super) async fn settle(&self) -> Outcome<Vec<&'static str>> {
        let row = self
            .row(
                "select pg_has_role(current_user, (select relowner from pg_class where oid = 'tenure.ready'::regclass), \
                 'usage'), pg_has_role(current_user, 'pg_checkpoint', 'usage')",
            )
            .await?;
        let mut left_out = Vec::new();
        for (allowed, name, statement) in [
            (get(&row, 0)?, "vacuum analyze", VACUUM),
            (get(&row, 1)?, "checkpoint", "checkpoint"),
        ] {
            match allowed {
                true => self
                    .client
                    .batch_execute(statement)
                    .await
                    .map_err(tenure::Error::from)?,
                false => left_out.push(name),
            }
        }
        Ok(left_out)
    }

    /// Jobs of ours that wait or are held.
    pub(super) async fn left(&self) -> Outcome<i64> {
        self.left_of(&[KIND]).await
    }

    /// Jobs of these kinds that wait or are held.
    pub(super) async fn left_of(&self, kinds: &[&str]) -> Outcome<i64> {
        let row = self
            .client
            .query_typed_one(
                "select (select count(*) from tenure.ready r where r.lane = any (l.lanes)) + \
                 (select count(*) from tenure.delayed d where d.lane = any (l.lanes)) + \
                 (select count(*) from tenure.active a where a.lane = any (l.lanes)) \
                 from (select array_agg(n.lane) as lanes from tenure.lanes n \
                 where n.kind = any ($1) and n.tenant_id = tenure.current_tenant()) l",
                &[(&kinds, Type::TEXT_ARRAY)],
            )
            .await
            .map_err(tenure::Error::from)?;
        get(&row, 0)
    }

    /// Connections of whoever calls itself so.
    pub(super) async fn connections(&self, application: &str) -> Outcome<i64> {
        let row = self
            .client
            .query_typed_one(
                "select count(*) from pg_stat_activity where application_name = $1",
                &[(&application, Type::TEXT)],
            )
            .await
            .map_err(tenure::Error::from)?;
        get(&row, 0)
    }

    /// Dead rows of the hot tables, and the size of the database.
    pub(super) async fn weight(&self) -> Outcome<(i64, i64)> {
        let row = self
            .row(
                "select coalesce(sum(n_dead_tup), 0)::int8, pg_database_size(current_database()) \
                 from pg_stat_all_tables where schemaname = 'tenure' \
                 and relname in ('ready', 'delayed', 'active', 'leases', 'idempotency')",
            )
            .await?;
        Ok((get(&row, 0)?, get(&row, 1)?))
    }

    /// The hot tables one by one.
    pub(super) async fn hot_tables(&self) -> Outcome<Value> {
        let mut told = health::doctor(&self.client).await?;
        Ok(told["hot_tables"].take())
    }

    /// Keeps what is dead from being cleaned until the server is forgotten: an old snapshot.
    pub(super) async fn hold_horizon(&self) -> Outcome {
        let held = self
            .client
            .batch_execute("begin isolation level repeatable read; select count(*) from pg_class");
        Ok(held.await.map_err(tenure::Error::from)?)
    }

    async fn setting(&self, name: &str) -> Outcome<String> {
        let row = self
            .client
            .query_typed_one("select current_setting($1)", &[(&name, Type::TEXT)])
            .await
            .map_err(tenure::Error::from)?;
        get(&row, 0)
    }

    async fn row(&self, statement: &str) -> Outcome<Row> {
        let row = self.client.query_typed_one(statement, &[]).await;
        Ok(row.map_err(tenure::Error::from)?)
    }
}

fn get<T: FromSqlOwned>(row: &Row, at: usize) -> Outcome<T> {
    Ok(row.try_get(at).map_err(tenure::Error::from)?)
}
