"""Verifies, without Tenure, that checkpoints outside the database cover an execution.

    python3 verify.py EVIDENCE CHECKPOINTS PUBLIC_KEY... [--proof PROOF] [--older-export]

EVIDENCE is the file of `tenure execution export`, CHECKPOINTS what the server appends to (one JSON object a line),
PUBLIC_KEY a key in Base64 as `tenure evidence key list` shows it. Nothing but the standard library is used. It checks the
signatures, trees and order of the checkpoints, and the events of the evidence against them; the rest of the evidence is for
`tenure evidence verify`.
"""

import base64
import datetime
import hashlib
import json
import sys

# Ed25519 (RFC 8032): points are (x, y) on -x² + y² = 1 + d·x²·y².
P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def add(a, b):
    product = D * a[0] * b[0] * a[1] * b[1]
    x = (a[0] * b[1] + a[1] * b[0]) * pow(1 + product, -1, P)
    y = (a[1] * b[1] + a[0] * b[0]) * pow(1 - product, -1, P)
    return x % P, y % P


def times(number, point):
    total = (0, 1)
    while number:
        if number & 1:
            total = add(total, point)
        point = add(point, point)
        number >>= 1
    return total


def unpacked(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if y >= P or (x * x - square) % P:
        raise ValueError("not a point of the curve")
    return (P - x if x % 2 != sign else x), y


BASE = unpacked((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def is_signed(key, text, signature):
    rest = int.from_bytes(signature[32:], "little")
    digest = hashlib.sha512(signature[:32] + key + text).digest()
    if len(signature) != 64 or rest >= ORDER:
        return False
    right = add(unpacked(signature[:32]), times(int.from_bytes(digest, "little") % ORDER, unpacked(key)))
    return times(rest, BASE) == right


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def leaf_hash(head):
    tenant, execution_id, chain_length, chain_hash = head
    return sha256(b"\0", f"tenure/head/v1\n{tenant}\n{execution_id}\n{chain_length}\n{chain_hash}".encode())


def level_above(level):
    pairs = [level[at : at + 2] for at in range(0, len(level), 2)]
    return [sha256(b"\1", *pair) if len(pair) == 2 else pair[0] for pair in pairs]


def root(hashes):
    if not hashes:
        return sha256()
    while len(hashes) > 1:
        hashes = level_above(hashes)
    return hashes[0]


def root_of_path(leaf, place, count, path):
    path = list(path)
    while count > 1:
        if place % 2:
            leaf = sha256(b"\1", path.pop(0), leaf)
        elif place + 1 < count:
            leaf = sha256(b"\1", leaf, path.pop(0))
        place, count = place // 2, (count + 1) // 2
    return leaf


FIELDS = ["number", "at", "installation", "previous", "leaf_count", "root", "key_id"]
MEMBERS = {"kind", "version", "public_key", "signature", "heads", *FIELDS}


def signed_text(checkpoint):
    return "\n".join(["tenure/checkpoint/v1"] + [str(checkpoint[field]) for field in FIELDS]).encode()


def fail(why):
    sys.exit(f"does not verify: {why}")


def parsed(text):
    """JSON without a member that is there twice."""

    def members(pairs):
        if len(dict(pairs)) != len(pairs):
            fail("a member of an object is there twice")
        return dict(pairs)

    return json.loads(text, object_pairs_hook=members)


def sorted_heads(heads):
    """Each once, in the order of the tree."""
    return [list(head) for head in sorted({tuple(head) for head in heads}, key=lambda head: head[1:])]


def checkpoints(path, keys):
    """All checkpoints of a file by their number, checked."""
    keys_by_id = {sha256(key).hex()[:16]: key for key in keys}
    found, last = {}, None
    for line in open(path, encoding="utf-8"):
        one = parsed(line)
        # The body of a webhook has the checkpoint in its event.
        one = one["data"]["data"] if "data" in one else one
        number, text = one["number"], signed_text(one)
        if one["key_id"] not in keys_by_id:
            fail(f"checkpoint {number} is signed with the key {one['key_id']}, which was not given")
        if not is_signed(keys_by_id[one["key_id"]], text, base64.b64decode(one["signature"])):
            fail(f"the signature of checkpoint {number} is wrong")
        if one["public_key"] != base64.b64encode(keys_by_id[one["key_id"]]).decode() or not set(one) <= MEMBERS:
            fail(f"checkpoint {number} holds another key, or members that checkpoints do not have")
        heads = one.setdefault("heads", []) or []
        if number in found:
            if text != signed_text(found[number]):
                fail(f"there are two checkpoints {number}")
            named = found[number]["heads"]
            if len(named) < one["leaf_count"]:
                heads = heads if len(heads) == one["leaf_count"] else sorted_heads(named + heads)
                found[number]["heads"] = heads
        elif last and (number, one["previous"]) != (last["number"] + 1, sha256(signed_text(last)).hex()):
            fail(f"checkpoint {number} does not follow checkpoint {last['number']}")
        else:
            found[number] = last = one
        if len(heads) > one["leaf_count"]:
            fail(f"checkpoint {number} names {len(heads)} leaves and has {one['leaf_count']}")
        if len(heads) == one["leaf_count"] and root([leaf_hash(head) for head in heads]).hex() != one["root"]:
            fail(f"the leaves of checkpoint {number} do not lead to its root")
    return found


def history(path):
    """The first line with tenant and id of the execution, and the hash of its chain after each event."""
    lines = [parsed(line) for line in open(path, encoding="utf-8")]
    hashes = [sha256(f"tenure/execution/{lines[0]['execution_id']}".encode())]
    for line in lines:
        if line["kind"] == "event":
            hashes.append(sha256(hashes[-1], line["body"].encode()))
    return lines[0], [value.hex() for value in hashes]


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def main(arguments):
    proof = None
    if "--proof" in arguments:
        at = arguments.index("--proof")
        proof = json.load(open(arguments[at + 1], encoding="utf-8"))
        del arguments[at : at + 2]
    older = "--older-export" in arguments
    evidence, file, *keys = [argument for argument in arguments if argument != "--older-export"]
    found = checkpoints(file, [base64.b64decode(key) for key in keys])
    first, hashes = history(evidence)
    execution_id = first["execution_id"]
    named = [(one["number"], head) for one in found.values() for head in one["heads"] if head[1] == execution_id]
    whole = {number for number, one in found.items() if len(one["heads"]) == one["leaf_count"]}
    if proof:
        one = found.get(proof["checkpoint"]["number"]) or fail("the checkpoint of the proof is not in the file")
        head = [proof["tenant"], proof["execution_id"], proof["chain_length"], proof["chain_hash"]]
        path = [bytes.fromhex(step) for step in proof["path"]]
        if root_of_path(leaf_hash(head), proof["place"], one["leaf_count"], path).hex() != one["root"]:
            fail(f"the proof does not lead to the root of checkpoint {one['number']}")
        if head[1] != execution_id or head[2] >= len(hashes):
            fail("the proof is of another execution, or of more events than the file has")
        named.append((one["number"], head))
        whole.add(one["number"])
    covered, longest = [], 0
    for number, head in sorted(named, key=lambda entry: (entry[0], -entry[1][2])):
        length, at = head[2], found[number]["at"]
        if length < longest:
            fail(f"checkpoint {number} covers {length} events, and one before it {longest}: the execution was rewritten")
        longest = length
        if length >= len(hashes):
            said = f"checkpoint {number} covers {length} events, this file has {len(hashes) - 1}: ask for a newer export"
            if not older or moment(first["exported_at"]) >= moment(at):
                fail(said)
            print(said)
        elif [first["tenant"], execution_id, length, hashes[length]] != list(head):
            fail(f"checkpoint {number} covers another history of execution {execution_id}")
        elif number in whole:
            covered.append((length, number))
    if not covered:
        fail(f"no checkpoint covers execution {execution_id}")
    missing = [str(number) for number in found if number not in whole]
    if missing:
        print(f"do not name all that they cover, and contradict nothing else: checkpoints {', '.join(missing)}")
    length = max(covered)[0]
    number = min(number for other, number in covered if other == length)
    print(f"checkpoint {number} of {found[number]['at']} covers {length} of {len(hashes) - 1} events")


if __name__ == "__main__":
    main(sys.argv[1:])
