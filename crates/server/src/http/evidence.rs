//! What proves an execution.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tenure::store::evidence;
use tenure_core::codes;
use tenure_core::evidence::{SecretKey, sign};

use super::Server;
use super::auth::Caller;
use super::body::Id;
use super::problem::Problem;

pub(super) fn routes() -> Router<Arc<Server>> {
    Router::new().route("/v1/executions/{execution_id}/evidence", get(execution_evidence))
}

/// JSON Lines that can be checked without a server. Of an execution that was archived it is the file that was signed then.
async fn execution_evidence(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(execution_id): Id,
) -> Result<Response, Problem> {
    let lines = server.call(&caller, "execution_evidence", async |client| {
        evidence::execution_evidence(client, execution_id).await
    });
    let file = match lines.await {
        Ok(lines) => sign(&lines, &*signing_key(&server).await?),
        Err(problem) if problem.is(codes::EXECUTION_UNKNOWN) => {
            let archived = server.call(&caller, "execution_archive_show", async |client| {
                evidence::execution_archive_show(client, execution_id).await
            });
            archived.await?
        }
        Err(problem) => return Err(problem),
    };
    let name = format!("attachment; filename=\"{execution_id}.evidence.jsonl\"");
    let headers = [
        (header::CONTENT_TYPE, "application/x-ndjson".to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((headers, file).into_response())
}

/// The server signs, whoever asks: the key is nobody else's.
async fn signing_key(server: &Server) -> Result<Arc<SecretKey>, Problem> {
    let mut connection = server.pool.get().await?;
    let transaction = connection.transaction().await.map_err(tenure::Error::from)?;
    let key = server.evidence_key.signing_key(&transaction).await?;
    transaction.commit().await.map_err(tenure::Error::from)?;
    Ok(key)
}
