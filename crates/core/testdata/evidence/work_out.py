"""Works out the files of evidence here, without a line of Tenure: run it after a change of what they tell.

NAME.jsonl has the lines before the signature, NAME.signed.jsonl the whole file, signed with the first key of RFC 8032,
section 7.1. Digests and chain are those of hashlib, the signature is the arithmetic of the RFC, written down below.
"""

import base64
import hashlib
import json
import pathlib

HERE = pathlib.Path(__file__).parent
SEED = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")

# Ed25519: points are (x, y) on -x² + y² = 1 + d·x²·y².
P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def add(a, b):
    product = D * a[0] * b[0] * a[1] * b[1]
    x = (a[0] * b[1] + a[1] * b[0]) * pow(1 + product, -1, P)
    y = (a[1] * b[1] + a[0] * b[0]) * pow(1 - product, -1, P)
    return x % P, y % P


def times(number, point):
    sum_ = (0, 1)
    while number:
        if number & 1:
            sum_ = add(sum_, point)
        point = add(point, point)
        number >>= 1
    return sum_


def base():
    y = 4 * pow(5, -1, P) % P
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    return (P - x if x % 2 else x), y


def packed(point):
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")


def number(*parts):
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little")


def halves(seed):
    digest = hashlib.sha512(seed).digest()
    secret = int.from_bytes(digest[:32], "little") & (2**254 - 8) | 2**254
    return secret, digest[32:]


def public(seed):
    return packed(times(halves(seed)[0], base()))


def signature(seed, text):
    secret, prefix = halves(seed)
    nonce = number(prefix, text) % ORDER
    point = packed(times(nonce, base()))
    rest = (nonce + number(point, public(seed), text) * secret) % ORDER
    return point + rest.to_bytes(32, "little")


# The second vector of the RFC, lest the arithmetic above be wrong.
SECOND = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
assert public(SECOND).hex() == "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
assert signature(SECOND, b"\x72").hex().startswith("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da")


def sha256(data):
    return hashlib.sha256(data).digest()


def text(value):
    return json.dumps(value, ensure_ascii=False)


def chain(story):
    before = sha256(b"tenure/execution/" + story["execution_id"].encode())
    for seq, (at, kind, actor, step, data) in enumerate(story["events"], 1):
        body = text({"seq": seq, "at": at, "kind": kind, "actor": actor, "step": step, "data": data})
        before = sha256(before + body.encode())
        yield body, before.hex()


def canonical(plan):
    return json.dumps(plan, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def lines(story):
    plan = canonical(PLAN)
    plan_hash = sha256(plan.encode()).hex()
    execution = story["execution_id"]
    events = list(chain(story))
    yield text({"kind": "evidence", "version": 2, "execution_id": execution, "tenant": "default", "plan_hash": plan_hash,
                "state": story["state"], "exported_at": "2026-02-01T12:00:00Z", "events": len(events)})
    yield text({"kind": "plan", "plan": plan})
    yield text({"kind": "execution", "execution_id": execution, "plan_hash": plan_hash, "state": story["state"],
                **EXECUTION, **story["execution"], "chain_hash": events[-1][1]})
    for record in story["records"]:
        yield text(record)
    for body, digest in events:
        yield text({"kind": "event", "body": body, "hash": digest})


def signed(file):
    digests = [sha256(line.encode()).hex() for line in file]
    key = public(SEED)
    seal = {
        "kind": "signature",
        "algorithm": "ed25519",
        "key_id": sha256(key).hex()[:16],
        "public_key": base64.b64encode(key).decode(),
        "digests": digests,
        "signature": base64.b64encode(signature(SEED, "\n".join(["tenure/evidence/v1", *digests]).encode())).decode(),
    }
    return [*file, json.dumps(seal, separators=(",", ":"))]


PLAN = {
    "purpose": "restart the café's till",
    "sla_class": "medium",
    "runbook_ref": "https://runbooks.example/till",
    "steps": [
        {"id": "restart", "action": "service.restart", "action_class": "modify", "target_type": "service", "target_ref": "till",
         "payload": {"grace_seconds": 30}},
        {"id": "check", "action": "service.check", "action_class": "read", "target_type": "service", "target_ref": "till",
         "needs": ["restart"]},
    ],
}
PLAN_HASH = sha256(canonical(PLAN).encode()).hex()
APPROVAL = "019c1d2e-0000-7000-8000-0000000000a1"
ASKED = "2026-01-31T09:00:00Z"
EXPIRES = "2026-02-01T09:00:00Z"
DECIDED = "2026-01-31T09:05:00Z"

# What the execution and its steps have in common in both files.
EXECUTION = {"purpose": PLAN["purpose"], "action_class": "modify", "approval_level": 1, "rule": "changes", "requested_by": "ada",
             "requesters": ["ada"], "key": "till", "key_origin": "given", "timeout_ms": 600000, "created_at": ASKED}
TERMS = [
    {"steps": [1], "action_class": "modify", "effects": "once", "attempts_max": 1, "timeout_seconds": 60, "approval_level": 1,
     "rule": "changes", "roles": [], "quorum": 1, "approval_seconds": 86400, "lock_action": ""},
    {"steps": [2], "action_class": "read", "effects": "idempotent", "timeout_seconds": 30, "approval_level": 0, "rule": "default"},
]
RULE = {"position": 10, "action_classes": ["modify"], "level": 1, "roles": [], "quorum": 1, "expires_seconds": 86400,
        "note": "Changes need a second pair of eyes.", "updated_by": "root", "updated_at": "2026-01-02T10:00:00Z"}


def approval(state, **more):
    return {"kind": "approval", "approval_id": APPROVAL, "plan_hash": PLAN_HASH, "level": 1, "quorum": 1, "roles": [],
            "rule": "changes", "auto_approved": False, "state": state, "created_at": ASKED, "expires_at": EXPIRES,
            "decided_at": DECIDED, "decided_by": "grace", **more}


# How grace proved who she is, in the event and in the line of the vote.
PROOF = {"auth_method": "api_key tnr_7hq2", "source": "10.0.0.7", "roles": ["approver"], "level": 1}


def vote(decision, comment):
    return {"kind": "vote", "approval_id": APPROVAL, "principal": "grace", "decision": decision, "plan_hash": PLAN_HASH,
            "comment": comment, "auth_makers": [], "at": DECIDED, **PROOF}


def voted(decision, comment):
    return (DECIDED, "approval_vote", "grace", None, {"approval_id": APPROVAL, "decision": decision, "plan_hash": PLAN_HASH,
                                                      "comment": comment, **PROOF})


def restart(state, **more):
    return {"kind": "step", "step_number": 1, "step": "restart", "action": "service.restart", "action_class": "modify",
            "target_type": "service", "target_ref": "till", "job_kind": "service.restart", "payload": {"grace_seconds": 30},
            "effects": "once", "attempts_max": 1, "timeout_seconds": 60, "approval_level": 1, "rule": "changes", "roles": [],
            "quorum": 1, "approval_seconds": 86400, "lock_target": "service:till", "lock_action": "", "state": state, **more}


def check(state, **more):
    return {"kind": "step", "step_number": 2, "step": "check", "action": "service.check", "action_class": "read",
            "target_type": "service", "target_ref": "till", "job_kind": "service.check", "payload": {}, "needs": ["restart"],
            "effects": "idempotent", "timeout_seconds": 30, "approval_level": 0, "rule": "default", "state": state, **more}


# What a run reported, and what the chained line keeps of it.
RESULT = '{"open": true}'
RESULT_HASH = {"result_hash": sha256(RESULT.encode()).hex(), "result_bytes": len(RESULT)}
FIRST_JOB, SECOND_JOB = "019c1d2e-0000-7000-8000-0000000000b1", "019c1d2e-0000-7000-8000-0000000000b2"
FIRST_RUN = {"attempt": 1, "worker": "till-1", "started_at": "2026-01-31T09:05:01Z", "ended_at": "2026-01-31T09:05:04Z"}
LOST_RUN = {"attempt": 1, "outcome": "failed", "worker": "till-2", "started_at": "2026-01-31T09:05:05Z",
            "ended_at": "2026-01-31T09:05:06Z", "error_code": "unreachable", "error_class": "transient",
            "error_message": "no route to the till"}
LAST_RUN = {"attempt": 2, "outcome": "succeeded", "worker": "till-2", "started_at": "2026-01-31T09:05:08Z",
            "ended_at": "2026-01-31T09:05:09Z"}


def attempt(step, job, run, facts, **more):
    return {"kind": "attempt", "step": step, "job_id": job, "run": run, "outcome": "succeeded", "holder": "tills",
            "leased_at": facts["started_at"], **facts, **more}


def told(run, facts, **more):
    """A run as a chained line tells it: the attempt of the run's number, the holder who is the actor and the lease that
    began with the start go without saying."""
    return {"run": run, **{name: value for name, value in facts.items() if name != "attempt"}, **more}


SUBMITTED = (ASKED, "execution_submitted", "ada", None, {
    "plan_hash": PLAN_HASH, "purpose": PLAN["purpose"], "steps": 2, "approval_level": 1, "rule": "changes",
    "record": {"tenant": "default", "requesters": ["ada"], "key": "till", "key_origin": "given", "action_class": "modify",
               "timeout_ms": 600000, "rules": {"changes": RULE}, "steps": TERMS}})
REQUESTED = (ASKED, "approval_requested", "ada", None, {
    "from": "pending", "to": "awaiting_approval", "approval_id": APPROVAL, "level": 1, "roles": [], "quorum": 1, "rule": "changes",
    "plan_hash": PLAN_HASH, "created_at": ASKED, "expires_at": EXPIRES})
NO = "not on a Saturday – “wait”"

STORIES = {
    "succeeded": {
        "execution_id": "019c1d2e-0000-7000-8000-000000000001",
        "state": "succeeded",
        "execution": {"reason_code": "completed", "approved_at": DECIDED, "started_at": DECIDED, "ended_at": "2026-01-31T09:05:09Z"},
        "records": [
            restart("succeeded", job_id=FIRST_JOB, fence=7, **FIRST_RUN),
            check("succeeded", job_id=SECOND_JOB, attempt=2, worker="till-2", started_at=LOST_RUN["started_at"],
                  ended_at=LAST_RUN["ended_at"], **RESULT_HASH),
            approval("approved", reason="as agreed", consumed_at=DECIDED),
            vote("approve", "as agreed"),
            attempt("restart", FIRST_JOB, 1, FIRST_RUN),
            attempt("check", SECOND_JOB, 1, LOST_RUN),
            attempt("check", SECOND_JOB, 2, LAST_RUN, result=RESULT),
        ],
        "events": [
            SUBMITTED,
            REQUESTED,
            voted("approve", "as agreed"),
            (DECIDED, "approval_approved", "grace", None, {"approval_id": APPROVAL, "plan_hash": PLAN_HASH, "reason": "as agreed"}),
            (DECIDED, "execution_approved", "grace", None, {"from": "awaiting_approval", "to": "approved"}),
            (DECIDED, "execution_started", "grace", None, {"approval_id": APPROVAL, "started_at": DECIDED}),
            (DECIDED, "execution_running", "grace", None, {"from": "approved", "to": "running"}),
            (DECIDED, "step_started", "grace", "restart", {"job_id": FIRST_JOB, "target": "service:till", "fence": 7}),
            ("2026-01-31T09:05:04Z", "step_completed", "tills", "restart", told(1, FIRST_RUN)),
            ("2026-01-31T09:05:04Z", "step_started", "tills", "check", {"job_id": SECOND_JOB}),
            ("2026-01-31T09:05:06Z", "step_retrying", "tills", "check", told(1, LOST_RUN)),
            ("2026-01-31T09:05:09Z", "step_completed", "tills", "check", told(2, LAST_RUN, **RESULT_HASH)),
            ("2026-01-31T09:05:09Z", "execution_completed", "tills", None,
             {"from": "running", "to": "succeeded", "reason_code": "completed", "succeeded": 2}),
        ],
    },
    "rejected": {
        "execution_id": "019c1d2e-0000-7000-8000-000000000002",
        "state": "rejected",
        "execution": {"reason_code": "rejected", "reason": NO, "ended_at": DECIDED},
        "records": [
            restart("skipped", ended_at=DECIDED, error_message=NO),
            check("skipped", ended_at=DECIDED, error_message=NO),
            approval("rejected", reason=NO),
            vote("reject", NO),
        ],
        "events": [
            SUBMITTED,
            REQUESTED,
            voted("reject", NO),
            (DECIDED, "approval_rejected", "grace", None, {"approval_id": APPROVAL, "plan_hash": PLAN_HASH, "reason": NO}),
            (DECIDED, "execution_rejected", "grace", None,
             {"from": "awaiting_approval", "to": "rejected", "reason_code": "rejected", "reason": NO, "skipped": 2}),
        ],
    },
}

for name, story in STORIES.items():
    file = list(lines(story))
    (HERE / f"{name}.jsonl").write_text("".join(line + "\n" for line in file))
    (HERE / f"{name}.signed.jsonl").write_text("".join(line + "\n" for line in signed(file)))
