"""Enqueues a job, does it as a worker, and looks at it: with the client that openapi-python-client makes of openapi.json."""

import json
import os
import sys
from typing import TypeVar

from tenure_client import AuthenticatedClient
from tenure_client.api.jobs import job_enqueue, job_show
from tenure_client.api.work import job_claim, job_complete, job_heartbeat
from tenure_client.models import (
    Claimed,
    EndAnswer,
    EndStatus,
    Enqueued,
    Heartbeat,
    HeartbeatStatus,
    JobClaimRequest,
    JobCompleteRequest,
    JobDetails,
    JobEnqueueRequest,
    JobHeartbeatRequest,
    JobState,
    JsonObject,
    PriorityName,
    Problem,
)

Answer = TypeVar("Answer")


def expect(kind: type[Answer], answer: object) -> Answer:
    """The answer, or the end of this program with what a refusal says."""
    if isinstance(answer, Problem):
        sys.exit(f"{answer.code}: {answer.what} {answer.why} {answer.next_}")
    assert isinstance(answer, kind), f"expected {kind.__name__}, got {answer}"
    return answer


def main() -> None:
    client = AuthenticatedClient(base_url=os.environ["TENURE_URL"], token=os.environ["TENURE_KEY"])
    with client as tenure:
        payload = JsonObject.from_dict({"month": "2026-01", "pages": [1, 2, 3]})
        new = JobEnqueueRequest(kind="report", payload=payload, priority=PriorityName.URGENT)
        enqueued = expect(Enqueued, job_enqueue.sync(client=tenure, body=new, idempotency_key="report-2026-01"))

        claim = JobClaimRequest(worker="report.py", kinds=["report"], wait_seconds=10)
        [job] = expect(Claimed, job_claim.sync(client=tenure, body=claim)).jobs
        assert job.job_id == enqueued.job_id and job.state is JobState.IN_PROGRESS

        beat = JobHeartbeatRequest(token=job.token)
        alive = expect(Heartbeat, job_heartbeat.sync(job.job_id, client=tenure, body=beat))
        assert alive.status is HeartbeatStatus.OK and alive.leased_until is not None
        assert alive.leased_until >= job.leased_until

        result = {"month": job.payload["month"], "pages": len(job.payload["pages"])}
        end = JobCompleteRequest(token=job.token, result=result)
        ended = expect(EndAnswer, job_complete.sync(job.job_id, client=tenure, body=end))
        assert ended.status is EndStatus.ENDED

        shown = expect(JobDetails, job_show.sync(job.job_id, client=tenure))
        assert shown.finished_at is not None and shown.finished_at >= shown.created_at
        print(json.dumps({
            "job_id": str(shown.job_id),
            "state": shown.state.value,
            "attempts": shown.attempts,
            "priority": shown.priority,
            "result": shown.result,
        }))


main()
