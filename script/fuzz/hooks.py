"""What the fuzzer has to know about the server: ids that exist, and that a claim may wait."""

import os
import random
import uuid

import requests
import schemathesis

URL = os.environ["TENURE_FUZZ_URL"]
KEY = os.environ["TENURE_FUZZ_KEY"]

# The share of requests for a job or a dead letter that name one that exists; the others find nothing.
KNOWN_SHARE = 0.6

chance = random.Random(1)


def post(path, body):
    answer = requests.post(URL + path, json=body, headers={"Authorization": f"Bearer {KEY}"}, timeout=20)
    answer.raise_for_status()
    return answer.json()


def scene():
    """Jobs in many states: waiting, held, ended, and given up."""
    jobs = post("/v1/jobs/batch", {"jobs": [{"kind": "fuzz", "payload": {"n": n}} for n in range(12)]})["jobs"]
    held = post("/v1/jobs/claim", {"worker": "fuzz", "kinds": ["fuzz"], "limit": 8})["jobs"]
    for job in held[:2]:
        post(f"/v1/jobs/{job['job_id']}/complete", {"token": job["token"], "result": {"n": 1}})
    for job in held[2:4]:
        post(f"/v1/jobs/{job['job_id']}/fail", {"token": job["token"], "message": "no", "permanent": True})
    for name in SCHEDULES:
        post("/v1/schedules", {"name": name, "kind": "fuzz", "cron": "0 3 * * *", "zone": "Europe/Berlin"})
        post(f"/v1/schedules/{name}/run", {})
    letters = requests.get(URL + "/v1/dead-letters", headers={"Authorization": f"Bearer {KEY}"}, timeout=20).json()
    return [job["job_id"] for job in jobs], held[4:], [one["dead_letter_id"] for one in letters["items"]]


# Some are deleted on the way.
SCHEDULES = [f"fuzz-{n}" for n in range(40)]
JOBS, HELD, LETTERS = scene()
PREFIX = KEY.split("_")[1]
WAITS = {str(seconds) for seconds in range(1, 41)}


def is_id(value):
    """What is wrong on purpose must stay so."""
    try:
        return bool(uuid.UUID(value))
    except (ValueError, TypeError, AttributeError):
        return False


@schemathesis.hook
def map_path_parameters(ctx, path_parameters):
    if path_parameters and chance.random() < KNOWN_SHARE:
        if is_id(path_parameters.get("job_id")):
            path_parameters["job_id"] = chance.choice(JOBS)
        if is_id(path_parameters.get("dead_letter_id")):
            path_parameters["dead_letter_id"] = chance.choice(LETTERS)
        if isinstance(path_parameters.get("name"), str) and "/schedules/" in ctx.operation.path:
            path_parameters["name"] = chance.choice(SCHEDULES)
    return path_parameters


@schemathesis.hook
def before_call(ctx, case, kwargs):
    body, path = case.body, case.path_parameters or {}
    # A wait that the server would allow is cut short, to save time. One that it refuses is sent as it is.
    for part in (body, case.query):
        if isinstance(part, dict) and str(part.get("wait_seconds")) in WAITS:
            part["wait_seconds"] = 0
    # The holder of a job may end it.
    if isinstance(body, dict) and chance.random() < KNOWN_SHARE:
        held = [job["token"] for job in HELD if job["job_id"] == path.get("job_id")]
        if held and is_id(body.get("token")):
            body["token"] = held[0]
        if isinstance(body.get("principal"), str):
            body["principal"] = "fuzzer"
    # It finds its own key in the list, revokes it, and is shut out; or it closes a gate, and all behind it answers with 503.
    if path.get("prefix") == PREFIX:
        path["prefix"] = "nobody00"
    if str(path.get("key")).endswith(".enabled"):
        path["key"] = "queue.lease.duration_sec"
