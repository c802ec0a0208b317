//! The schedules of a benchmark: many in one statement, and gone after it.

use tenure::schedules::NewSchedule;
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

use crate::errors::Outcome;

/// Calls in one statement.
const BATCH: u32 = 500;

/// Raises the first refusal, if there is one.
const MAKE: &str = "select count(tenure.schedule_create($1 || n, $4)) from generate_series($2::int4, $3::int4) n";
/// The same rows without a call each, of which a hundred thousand take minutes: where the server is ours, we may.
const COPY: &str = "insert into tenure.schedules overriding system value select r.* from tenure.schedules s \
                    cross join generate_series($2::int4 + 1, $3::int4) n cross join lateral jsonb_populate_record(s, \
                    jsonb_build_object('schedule_id', nextval(pg_get_serial_sequence('tenure.schedules', 'schedule_id')), \
                    'name', $1 || n, 'next_at', tenure.now())) r where s.name = $1 || $2";
const DELETE: &str = "select count(tenure.schedule_delete($1 || n)) from generate_series($2::int4, $3::int4) n";

pub(super) struct Made {
    client: Client,
    /// Random, so that no name of an earlier run is met again.
    prefix: String,
    count: u32,
    /// Whether the database is gone after the run.
    on_own: bool,
}

impl Made {
    pub(super) async fn connect(url: &str, on_own: bool) -> Outcome<Made> {
        Ok(Made {
            client: tenure::pool::connect(url).await?,
            prefix: format!("bench {} ", &Uuid::new_v4().simple().to_string()[..8]),
            count: 0,
            on_own,
        })
    }

    /// How many there are.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// So many more of these.
    pub(super) async fn make(&mut self, schedule: &NewSchedule, more: u32) -> Outcome {
        let (first, last) = (self.count as i32 + 1, (self.count + more) as i32);
        let spec = schedule.spec();
        match self.on_own {
            true => {
                self.each(MAKE, first, first, &[(&spec, Type::JSONB)]).await?;
                self.each(COPY, first, last, &[]).await?;
            }
            false => self.each(MAKE, first, last, &[(&spec, Type::JSONB)]).await?,
        }
        self.count += more;
        Ok(())
    }

    /// Ends them all, however they were made.
    pub(super) async fn delete_all(&mut self) -> Outcome {
        while self.count > 0 {
            let (first, last) = (self.count.saturating_sub(BATCH) as i32 + 1, self.count as i32);
            self.each(DELETE, first, last, &[]).await?;
            self.count = self.count.saturating_sub(BATCH);
        }
        Ok(())
    }

    /// Calls for each of these numbers; the first refusal ends it.
    async fn each(&self, statement: &str, first: i32, last: i32, more: &[(&(dyn ToSql + Sync), Type)]) -> Outcome {
        let mut values: Vec<(&(dyn ToSql + Sync), Type)> =
            vec![(&self.prefix, Type::TEXT), (&first, Type::INT4), (&last, Type::INT4)];
        values.extend_from_slice(more);
        let called = self.client.query_typed(statement, &values).await;
        called.map_err(tenure::Error::from)?;
        Ok(())
    }
}
