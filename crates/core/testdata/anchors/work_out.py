"""Works out the vectors here, without a line of Tenure: run it after a change of what they say.

merkle.tsv has trees: how many leaves (leaf n is the text "leaf n"), a place, the root, the path. checkpoints.jsonl has three
checkpoints signed with the first key of RFC 8032, section 7.1, history.jsonl an execution that the second one covers, and
proof.json the proof of that.

In rewritten_checkpoints.jsonl the third checkpoint covers 9 events of an execution, the fourth 13, and the fifth the 11 of
rewritten.jsonl: the first 9 and 2 that were made up, in a file that says it was written before the fourth.
"""

import base64
import hashlib
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from verify import leaf_hash, level_above, root, sha256, signed_text  # noqa: E402

SEED = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")


def signature(text):
    from verify import BASE, ORDER, times

    def packed(point):
        return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")

    digest = hashlib.sha512(SEED).digest()
    secret = int.from_bytes(digest[:32], "little") & (2**254 - 8) | 2**254
    public = packed(times(secret, BASE))
    number = lambda *parts: int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little")
    nonce = number(digest[32:], text) % ORDER
    point = packed(times(nonce, BASE))
    return public, point + ((nonce + number(point, public, text) * secret) % ORDER).to_bytes(32, "little")


def path(hashes, place):
    found = []
    while len(hashes) > 1:
        if place ^ 1 < len(hashes):
            found.append(hashes[place ^ 1])
        hashes, place = level_above(hashes), place // 2
    return found


def merkle():
    rows = ["leaves\tplace\troot\tpath"]
    for count in [0, 1, 2, 3, 4, 5, 7, 8, 13, 64, 100]:
        hashes = [sha256(b"\0", f"leaf {n}".encode()) for n in range(count)]
        for place in sorted({0, count // 2, count - 1}) if count else [-1]:
            way = "" if count == 0 else " ".join(step.hex() for step in path(hashes, place))
            rows.append(f"{count}\t{place}\t{root(hashes).hex()}\t{way}")
    return "\n".join(rows) + "\n"


EXECUTION = "019c1d2e-0000-7000-8000-00000000000a"


KINDS = ["execution_submitted", "execution_approved", "execution_succeeded"]


def history(kinds=KINDS, exported_at="2026-02-01T00:00:00Z"):
    """The lines of an execution, and the hash of its chain after each event."""
    lines = [{"kind": "evidence", "tenant": "default", "execution_id": EXECUTION, "exported_at": exported_at}]
    hashes = [sha256(f"tenure/execution/{EXECUTION}".encode())]
    for seq, kind in enumerate(kinds, 1):
        at = f"2026-01-05T10:00:{seq:02}.000000Z"
        body = json.dumps({"seq": seq, "at": at, "kind": kind, "actor": "ada", "step": None, "data": {"café": seq}},
                          ensure_ascii=False, separators=(",", ":"))
        hashes.append(sha256(hashes[-1], body.encode()))
        lines.append({"kind": "event", "body": body, "hash": hashes[-1].hex()})
    return lines, [value.hex() for value in hashes]


def checkpoint(number, previous, heads):
    one = {"kind": "checkpoint", "version": 1, "number": number, "at": f"2026-01-05T10:{number}0:00.000000Z",
           "installation": "5b0c1f0e-0000-4000-8000-000000000001", "previous": previous, "leaf_count": len(heads),
           "root": root([leaf_hash(head) for head in heads]).hex(), "key_id": "", "public_key": "", "signature": ""}
    public, _ = signature(b"")
    one["key_id"] = sha256(public).hex()[:16]
    one["public_key"] = base64.b64encode(public).decode()
    one["signature"] = base64.b64encode(signature(signed_text(one))[1]).decode()
    one["heads"] = heads
    return one


def rewritten():
    """A history that was rewritten after two checkpoints, and the checkpoints with one more over what was made up."""
    real = ["execution_submitted"] + ["step_queued"] * 8 + ["step_failed"] * 3 + ["execution_failed"]
    _, hashes = history(real)
    lines, forged = history(real[:9] + ["step_completed", "execution_succeeded"], "2026-01-05T10:35:00Z")
    made = []
    for number, length, chain in [(1, 0, hashes), (2, 4, hashes), (3, 9, hashes), (4, 13, hashes), (5, 11, forged)]:
        previous = sha256(signed_text(made[-1])).hex() if made else "0" * 64
        heads = [["default", EXECUTION, length, chain[length]]] if length else []
        made.append(checkpoint(number, previous, heads))
    return lines, made


def main():
    lines, hashes = history()
    others = [["acme", f"019c1d2e-0000-7000-9000-00000000000{n}", n, sha256(str(n).encode()).hex()] for n in range(1, 5)]
    first = checkpoint(1, "0" * 64, [["default", EXECUTION, 1, hashes[1]], others[0]])
    heads = others[1:3] + [["default", EXECUTION, 3, hashes[3]]] + others[3:]
    second = checkpoint(2, sha256(signed_text(first)).hex(), heads)
    third = checkpoint(3, sha256(signed_text(second)).hex(), [])
    dump = lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
    write = lambda name, text: (HERE / name).write_text(text, encoding="utf-8", newline="\n")
    write("merkle.tsv", merkle())
    write("history.jsonl", "".join(map(dump, lines)))
    write("checkpoints.jsonl", "".join(map(dump, [first, second, third])))
    forged, made = rewritten()
    write("rewritten.jsonl", "".join(map(dump, forged)))
    write("rewritten_checkpoints.jsonl", "".join(map(dump, made)))
    proof = {"kind": "proof", "version": 1, "tenant": "default", "execution_id": EXECUTION, "chain_length": 3,
             "chain_hash": hashes[3], "place": 2,
             "path": [step.hex() for step in path([leaf_hash(head) for head in heads], 2)],
             "checkpoint": {field: value for field, value in second.items() if field != "heads"}}
    write("proof.json", dump(proof))


if __name__ == "__main__":
    main()
