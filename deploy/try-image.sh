#!/usr/bin/env bash
# Build the image and try what it promises, run as docker-compose.yml runs it but without any network:
#   deploy/try-image.sh                 # ENGINE=podman; IMAGE=NAME tries one that is there already
set -euo pipefail
cd "$(dirname "$0")/.."

engine=${ENGINE:-docker}
image=${IMAGE:-warp:tried}
[[ -n ${IMAGE:-} ]] || $engine build --tag "$image" .

key=$(python3 -c 'import secrets; print(secrets.token_urlsafe(32))')
container=$($engine run --detach --network none --read-only --tmpfs /tmp --cap-drop ALL \
    --security-opt no-new-privileges --env WARP_WORKERS=2 --env WARP_API_KEYS="[\"$key\"]" "$image")
finish() {
    local code=$?
    ((code == 0)) || { $engine logs "$container"; echo "$image: not as promised"; } >&2
    $engine rm --force --volumes "$container" >/dev/null
}
trap finish EXIT

$engine exec --interactive --env KEY="$key" "$container" python - <<'PYTHON'
import json
import os
import time
import urllib.error
import urllib.request
from pathlib import Path

HOST = f"http://127.0.0.1:{os.environ['WARP_PORT']}"


def status_of(path, body=None, key=os.environ["KEY"]):
    """Status and body of an answer; 0 while nobody listens."""
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    asked = urllib.request.Request(HOST + path, body and json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(asked, timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, b""
    except OSError:
        return 0, b""


def is_refused(path):
    try:
        Path(path).touch()
    except OSError:
        return True
    return False


deadline = time.monotonic() + 60
while status_of("/readyz")[0] != 200:
    assert time.monotonic() < deadline, "it does not become ready"
    time.sleep(0.2)

reviews = [("good", "a lovely breakfast", 30), ("bad", "the breakfast was cold", -30)]
documents = [{"id": i, "text": text, "opinions": [{"entity": "breakfast", "si": si}]} for i, text, si in reviews]
assert status_of("/ingest", {"documents": documents})[0] == 200
question = {"query": "How is the breakfast?", "k": 2}
while len(json.loads(status_of("/search", question)[1])["results"]) < 2:  # until both workers have followed
    assert time.monotonic() < deadline, "it finds nothing"
    time.sleep(0.2)
assert status_of("/search", question, key="wrong")[0] == 401
assert os.getuid() != 0, "it runs as root"
assert is_refused("/written") and is_refused("/opt/warp/written"), "its files can be changed"
PYTHON

health=$($engine inspect --format '{{json .Config.Healthcheck.Test}}' "$container" |
    python3 -c 'import json, shlex, sys; print(shlex.join(json.load(sys.stdin)[1:]))')
eval "$engine exec $container $health"

$engine stop --time 20 "$container" >/dev/null
[[ $($engine inspect --format '{{.State.ExitCode}}' "$container") == 0 ]]
echo "$image: ready without a network, answers, needs a key, is not root, cannot change its files, is healthy, ends with 0"
