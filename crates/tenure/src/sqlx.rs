//! Jobs in transactions of `sqlx` (feature `sqlx`, off by default).
//!
//! The worker and the [`Client`](crate::Client) keep connections of their own; only these calls go through `sqlx`.
//!
//! ```no_run
//! use tenure::NewJob;
//!
//! # async fn order(pool: sqlx::PgPool) -> anyhow::Result<()> {
//! let mut transaction = pool.begin().await?;
//! sqlx::query("insert into orders (id) values (7)").execute(&mut *transaction).await?;
//! let job = NewJob::of("order.ship", &serde_json::json!({"order": 7}))?.key("order-7");
//! tenure::sqlx::enqueue_in(&mut *transaction, &job).await?;
//! transaction.commit().await?;
//! # Ok(())
//! # }
//! ```

use sqlx::postgres::{PgArguments, PgDatabaseError};
use sqlx::query::Query;
use sqlx::{PgExecutor, PgTransaction, Postgres, Row};
use tenure_core::{Refusal, codes};
use tokio_postgres::error::SqlState;
use uuid::Uuid;

use crate::client::IntoNewJob;
use crate::error::{Answer, Error, Result, of_answer, reasons};
use crate::store::Statement;
use crate::store::jobs::Enqueued;
use crate::worker::{Context, Done};

/// Enqueues one job in a transaction of the caller's: it exists exactly if that commits. A refusal aborts the transaction.
/// See [`crate::enqueue_in`]; here a connection or a pool will do too, and then the job stands at once;
/// behind PgBouncer in transaction mode use a transaction.
pub async fn enqueue_in(executor: impl PgExecutor<'_>, job: &impl IntoNewJob) -> Result<Enqueued> {
    let statement = job.new_job()?.to_sql();
    let row = query(&statement).fetch_one(executor).await.map_err(of_sqlx)?;
    let job_id: &str = row.try_get("job_id").map_err(of_sqlx)?;
    Ok(Enqueued {
        job_id: Uuid::parse_str(job_id).map_err(|error| unreadable(&error))?,
        duplicate: row.try_get("duplicate").map_err(of_sqlx)?,
        state: row.try_get("state").map_err(of_sqlx)?,
    })
}

/// Completes the job of a handler in a transaction of its own: [`Context::complete_in`] for `sqlx`.
///
/// ```no_run
/// # async fn of(pool: sqlx::PgPool, context: tenure::worker::Context) -> Result<(), tenure::worker::Failure> {
/// let mut transaction = pool.begin().await?;
/// sqlx::query("update accounts set balance = balance - 5 where id = 7").execute(&mut *transaction).await?;
/// tenure::sqlx::complete_in(&mut transaction, &context, ()).await?;
/// transaction.commit().await?;
/// # Ok(())
/// # }
/// ```
pub async fn complete_in(transaction: &mut PgTransaction<'_>, context: &Context, done: impl Into<Done>) -> Result<()> {
    let statement = context.completion(&done.into());
    let completion = async {
        let completed = query(&statement).execute(&mut **transaction).await;
        completed.map(drop).map_err(of_sqlx)
    };
    context.completing(completion).await
}

/// Unnamed, so that PgBouncer in transaction mode works with a transaction: sqlx prepares and executes in two round trips.
fn query(statement: &Statement) -> Query<'_, Postgres, PgArguments> {
    let query = sqlx::query(&statement.sql).persistent(false);
    statement
        .parameters
        .iter()
        .fold(query, |query, text| query.bind(text.as_str()))
}

/// What `sqlx` says, in the words every surface shows.
fn of_sqlx(error: sqlx::Error) -> Error {
    let answer = match &error {
        sqlx::Error::Database(answer) => answer.try_downcast_ref::<PgDatabaseError>(),
        _ => None,
    };
    let refusal = match (answer, &error) {
        (Some(answer), _) => of_answer(&Answer {
            state: SqlState::from_code(answer.code()),
            message: answer.message(),
            detail: answer.detail(),
            hint: answer.hint(),
            schema: answer.schema(),
            table: answer.table(),
            constraint: answer.constraint(),
        }),
        (None, sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed) => {
            Refusal::new(
                codes::DATABASE_UNREACHABLE,
                "The database does not answer.",
                reasons(&error),
                "Check that the server runs and that the pool has connections.",
            )
        }
        (None, _) => unreadable(&error),
    };
    Error::Refused(refusal)
}

fn unreadable(error: &dyn std::error::Error) -> Refusal {
    Refusal::new(
        codes::DATABASE_ERROR,
        "The database's answer could not be read, or our question could not be put.",
        reasons(error),
        "Check that program and schema belong together: tenure doctor.",
    )
}
