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


def lines(story):
    plan = json.dumps(story["plan"], ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    plan_hash = sha256(plan.encode()).hex()
    execution = story["execution_id"]
    events = list(chain(story))
    yield text({"kind": "evidence", "version": 1, "execution_id": execution, "tenant": "default", "plan_hash": plan_hash,
                "state": story["state"], "exported_at": "2026-02-01T12:00:00Z", "events": len(events)})
    yield text({"kind": "plan", "plan": plan})
    yield text({"kind": "execution", "execution_id": execution, "plan_hash": plan_hash, "state": story["state"],
                "purpose": story["plan"]["purpose"], **story["execution"], "chain_hash": events[-1][1]})
    for record in story["records"]:
        hashed = {"plan_hash": plan_hash} if record["kind"] in ("approval", "vote") else {}
        yield text({**record, **hashed})
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
        {"id": "restart", "action": "service.restart", "action_class": "modify", "target_type": "service", "target_ref": "till"},
        {"id": "check", "action": "service.check", "action_class": "read", "target_type": "service", "target_ref": "till",
         "needs": ["restart"]},
    ],
}


def approval(state, **more):
    return {"kind": "approval", "approval_id": "019c1d2e-0000-7000-8000-0000000000a1", "step_id": None, "level": 1, "quorum": 1,
            "roles": [], "rule": "default", "auto_approved": False, "state": state, **more}


def vote(decision, **more):
    return {"kind": "vote", "approval_id": "019c1d2e-0000-7000-8000-0000000000a1", "principal": "grace", "decision": decision,
            "auth_method": "key", "source": "10.0.0.7", "roles": ["approver"], "level": 1, "at": "2026-01-31T09:05:00Z", **more}


def step(number, name, state, **more):
    return {"kind": "step", "step_number": number, "step_id": name, "state": state, "approval_level": 1, **more}


SUBMITTED = ("2026-01-31T09:00:00Z", "execution_submitted", "ada", None, {"purpose": PLAN["purpose"], "steps": 2})
REQUESTED = ("2026-01-31T09:00:00Z", "approval_requested", "ada", None, {"level": 1, "rule": "default"})

STORIES = {
    "succeeded": {
        "execution_id": "019c1d2e-0000-7000-8000-000000000001",
        "state": "succeeded",
        "plan": PLAN,
        "execution": {"requested_by": "ada", "approval_level": 1, "rule": "default", "created_at": "2026-01-31T09:00:00Z",
                      "started_at": "2026-01-31T09:05:00Z", "ended_at": "2026-01-31T09:05:09Z"},
        "records": [
            step(1, "restart", "succeeded", worker="till-1", fence=7, job_id="019c1d2e-0000-7000-8000-0000000000b1"),
            step(2, "check", "succeeded", worker="till-2", job_id="019c1d2e-0000-7000-8000-0000000000b2"),
            approval("approved", decided_by="grace", decided_at="2026-01-31T09:05:00Z", consumed_at="2026-01-31T09:05:00Z"),
            vote("approve", comment="as agreed"),
            {"kind": "attempt", "step_number": 1, "attempt": 1, "outcome": "succeeded", "worker": "till-1"},
            {"kind": "attempt", "step_number": 2, "attempt": 1, "outcome": "succeeded", "worker": "till-2"},
        ],
        "events": [
            SUBMITTED,
            REQUESTED,
            ("2026-01-31T09:05:00Z", "approval_approved", "grace", None, {"rule": "default"}),
            ("2026-01-31T09:05:00Z", "execution_approved", "grace", None, {"from": "awaiting_approval", "to": "approved"}),
            ("2026-01-31T09:05:00Z", "execution_running", "grace", None, {"from": "approved", "to": "running"}),
            ("2026-01-31T09:05:04Z", "step_succeeded", "till-1", "restart", {"attempt": 1}),
            ("2026-01-31T09:05:09Z", "step_succeeded", "till-2", "check", {"attempt": 1}),
            ("2026-01-31T09:05:09Z", "execution_completed", "till-2", None, {"from": "running", "to": "succeeded"}),
        ],
    },
    "rejected": {
        "execution_id": "019c1d2e-0000-7000-8000-000000000002",
        "state": "rejected",
        "plan": PLAN,
        "execution": {"requested_by": "ada", "approval_level": 1, "rule": "default", "created_at": "2026-01-31T09:00:00Z",
                      "started_at": None, "ended_at": "2026-01-31T09:05:00Z"},
        "records": [
            step(1, "restart", "cancelled"),
            step(2, "check", "cancelled"),
            approval("rejected", decided_by="grace", decided_at="2026-01-31T09:05:00Z", consumed_at=None),
            vote("reject", comment="not on a Saturday – “wait”"),
        ],
        "events": [
            SUBMITTED,
            REQUESTED,
            ("2026-01-31T09:05:00Z", "approval_rejected", "grace", None, {"comment": "not on a Saturday – “wait”"}),
            ("2026-01-31T09:05:00Z", "execution_rejected", "grace", None, {"from": "awaiting_approval", "to": "rejected"}),
        ],
    },
}

for name, story in STORIES.items():
    file = list(lines(story))
    (HERE / f"{name}.jsonl").write_text("".join(line + "\n" for line in file))
    (HERE / f"{name}.signed.jsonl").write_text("".join(line + "\n" for line in signed(file)))
