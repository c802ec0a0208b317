"""A worker for Tenure with nothing but Python's standard library.

worker.py enqueue N    put in a job that counts to N
worker.py              do such jobs, until somebody stops it
"""

import json, os, sys, time, urllib.error, urllib.request

URL = os.environ.get("TENURE_URL", "http://127.0.0.1:7373")
HEADERS = {"Authorization": "Bearer " + os.environ["TENURE_KEY"], "Content-Type": "application/json"}


def call(path, **body):
    request = urllib.request.Request(URL + "/v1/jobs" + path, json.dumps(body).encode(), HEADERS)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def work(job):
    def tell(verb, **more):  # The token proves that the job is still ours.
        return call(f"/{job['job_id']}/{verb}", token=job["token"], **more)

    # Of an execution, or none: the database says so, whatever the payload says. If the step locks its target,
    # step["fence"] is the number of this run: a target that refuses smaller ones is safe from a worker believed dead.
    step = job["step"]
    of = {"step": step["step_id"], "target": step["target_ref"]} if step else {}
    try:
        for _ in range(job["payload"]["to"]):
            time.sleep(0.1)  # Here the real work would be done.
            if tell("heartbeat")["status"] == "cancel":
                return tell("acknowledge-cancel")
        return tell("complete", result={"counted_to": job["payload"]["to"], **of})
    except urllib.error.HTTPError as refusal:  # The lease was lost: somebody else has the job now.
        return json.load(refusal)
    except Exception as error:
        return tell("fail", message=str(error))


if sys.argv[1:2] == ["enqueue"]:
    print(call("", kind="count", payload={"to": int(sys.argv[2])})["job_id"])
    sys.exit()
while True:  # An empty answer after 30 seconds only means: ask again.
    for job in call("/claim", worker=f"python-{os.getpid()}", kinds=["count"], wait_seconds=30)["jobs"]:
        print(json.dumps(work(job)), flush=True)
