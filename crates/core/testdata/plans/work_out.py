"""Works out valid.tsv and steps.tsv from valid/*.json, without a line of Tenure: run it after a change of the plans.

RFC 8785 for what the plans use: names sorted by UTF-16, numbers as ECMAScript prints doubles, text as short as JSON allows.
"""

import hashlib
import json
import pathlib

HERE = pathlib.Path(__file__).parent


def number(value):
    if value == 0:
        return "0"
    sign, digits = ("-", repr(-value)) if value < 0 else ("", repr(value))
    mantissa, _, exponent = digits.partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    point = len(whole) + int(exponent or 0)
    digits = (whole + fraction).lstrip("0")
    point -= len(whole + fraction) - len(digits)
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    rest = "." + digits[1:] if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{point - 1:+d}"


def canonical(value):
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        pairs = sorted(value.items(), key=lambda pair: pair[0].encode("utf-16-be"))
        return "{" + ",".join(canonical(name) + ":" + canonical(item) for name, item in pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def steps(plan):
    by_id = {step["id"]: step for step in plan["steps"]}
    sectioned = {step for section in plan.get("sections", []) for step in section["steps"]}

    def level(step):
        return max((level(by_id[need]) + 1 for need in step.get("needs", [])), default=0)

    for step in plan["steps"]:
        read = step.get("action_class") == "read"
        effects = step.get("effects", "idempotent" if read else "once")
        scope = "target" if step["id"] in sectioned else step.get("lock_scope", "none" if read else "target")
        parts = [step["target_type"], step["target_ref"].replace("%", "%25").replace(":", "%3A"), step["action"]]
        yield [
            step["id"],
            str(level(step)),
            step.get("kind", step["action"]),
            step.get("executor", "-"),
            effects,
            number(step["attempts_max"]) if "attempts_max" in step else "1" if effects == "once" else "-",
            number(step["timeout_seconds"]) if "timeout_seconds" in step else "-",
            {"none": "-", "target": ":".join(parts[:2]), "target_and_action": ":".join(parts)}[scope],
        ]


with open(HERE / "valid.tsv", "w") as valid, open(HERE / "steps.tsv", "w") as meant:
    for path in sorted((HERE / "valid").glob("*.json")):
        plan = json.loads(path.read_bytes(), parse_int=float)
        text = canonical(plan)
        digest = hashlib.sha256(text.encode()).hexdigest()
        print(path.stem, digest, text, sep="\t", file=valid)
        for step in steps(plan):
            print(path.stem, *step, sep="\t", file=meant)
