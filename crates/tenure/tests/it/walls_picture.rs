//! A picture of all that belongs to a tenant, and attempts that are compared with it and undone.

use std::collections::{BTreeMap, BTreeSet};

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::fixture::{get, rows, run, try_rows};
use crate::walls_calls::Call;

/// Tables of the installation that services of every tenant write: where a sweep has come to.
const SHARED: &[&str] = &["sweep_cursors"];

/// The rows of tenant default and of the installation, each table as one hash, and the ids in them.
pub(crate) struct Picture {
    sql: String,
    before: BTreeMap<String, String>,
    ids: BTreeSet<String>,
}

/// What came of a call that was undone.
pub(crate) struct Outcome {
    /// The answer, or the refusal.
    pub(crate) answer: Result<String, String>,
    /// The SQLSTATE of the refusal.
    pub(crate) code: String,
    /// Something was written.
    pub(crate) has_written: bool,
    /// The tables of the picture that are different.
    pub(crate) changed: Vec<String>,
}

impl Picture {
    /// Of the tables in the catalogue, so that a new table is in it too.
    pub(crate) async fn take(c: &Client) -> Picture {
        let sql = "select c.relname::text, array_agg(a.attname::text),
                          array_agg(a.attname::text) filter (where a.atttypid in ('uuid'::regtype, 'uuid[]'::regtype))
                     from pg_class c
                     join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                    where c.relnamespace = 'tenure'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
                    group by c.relname";
        let (mut digests, mut ids) = (Vec::new(), Vec::new());
        for row in rows(c, sql, &[]).await {
            let (table, columns): (String, Vec<String>) = (row.get(0), row.get(1));
            if SHARED.contains(&table.as_str()) {
                continue;
            }
            let has = |name: &str| columns.iter().any(|column| column == name);
            let filter = match () {
                () if has("tenant_id") => "x.tenant_id in (0, 1)",
                () if has("lane") => "x.lane in (select n.lane from tenure.lanes n where n.tenant_id = 1)",
                () if has("job_id") => "x.job_id in (select j.job_id from tenure.jobs j where j.tenant_id = 1)",
                () => "true",
            };
            digests.push(format!(
                "select '{table}', coalesce(md5(string_agg(x::text, '|' order by x::text)), '') from tenure.{table} x where {filter}"
            ));
            for column in row.get::<_, Option<Vec<String>>>(2).unwrap_or_default() {
                ids.push(format!(
                    "select x.{column}::text from tenure.{table} x where {filter} and x.{column} is not null"
                ));
            }
        }
        let sql = digests.join(" union all ");
        let before = digest(c, &sql).await;
        let listed = rows(c, &ids.join(" union "), &[]).await;
        let listed = listed.iter().flat_map(|row| ids_in(row.get(0)));
        Picture {
            ids: listed.collect(),
            before,
            sql,
        }
    }

    /// Tries a call in a transaction that begins with these statements, and undoes it.
    pub(crate) async fn attempt(&self, c: &Client, entering: &str, call: &Call) -> Outcome {
        run(c, &format!("begin; {entering}")).await;
        let outcome = match try_rows(c, &call.sql(), &[]).await {
            Err(error) => Outcome {
                code: error.code().map(SqlState::code).unwrap_or_default().to_owned(),
                answer: Err(refusal(&error)),
                has_written: false,
                changed: Vec::new(),
            },
            Ok(rows) => {
                run(c, "reset session authorization; set constraints all immediate").await;
                let has_written = get(c, "select pg_current_xact_id_if_assigned() is not null", &[]).await;
                let after = if has_written {
                    digest(c, &self.sql).await
                } else {
                    self.before.clone()
                };
                let changed = after
                    .into_iter()
                    .filter(|(table, hash)| self.before.get(table) != Some(hash));
                Outcome {
                    answer: Ok(rows[0].get(0)),
                    code: String::new(),
                    has_written,
                    changed: changed.map(|(table, _)| table).collect(),
                }
            }
        };
        run(c, "rollback").await;
        outcome
    }

    /// Which of these calls of a stranger show an id of the tenant or a text with its mark, change something of it, or break.
    pub(crate) async fn holes(
        &self,
        c: &Client,
        entering: impl Fn(&Call) -> String,
        calls: &[Call],
        mark: Option<&str>,
    ) -> Vec<String> {
        let mut holes = Vec::new();
        for call in calls {
            let outcome = self.attempt(c, &entering(call), call).await;
            let (Ok(answer) | Err(answer)) = &outcome.answer;
            let rest = call.without_echo(answer);
            let shown: Vec<String> = ids_in(&rest).filter(|id| self.ids.contains(id)).collect();
            if outcome.answer.is_err() && !outcome.code.starts_with("TN") {
                holes.push(format!("{call} is broken: {answer}"));
            } else if mark.is_some_and(|mark| rest.contains(mark)) || !shown.is_empty() {
                holes.push(format!("{call} shows a foreign tenant {shown:?}: {answer}"));
            } else if !outcome.changed.is_empty() {
                holes.push(format!(
                    "{call} changes {:?} of a foreign tenant: {answer}",
                    outcome.changed
                ));
            }
        }
        holes
    }
}

/// What a caller is shown of an error.
fn refusal(error: &tokio_postgres::Error) -> String {
    let shown = error
        .as_db_error()
        .map(|it| (it.code().code(), it.message(), it.detail(), it.hint()));
    shown.map_or_else(|| format!("{error:?}"), |shown| format!("{shown:?}"))
}

async fn digest(c: &Client, sql: &str) -> BTreeMap<String, String> {
    rows(c, sql, &[])
        .await
        .iter()
        .map(|row| (row.get(0), row.get(1)))
        .collect()
}

/// The ids in a text.
fn ids_in(text: &str) -> impl Iterator<Item = String> + '_ {
    let words = text.split(|c: char| !c.is_ascii_hexdigit() && c != '-');
    words
        .filter(|word| uuid::Uuid::try_parse(word).is_ok())
        .map(str::to_owned)
}
