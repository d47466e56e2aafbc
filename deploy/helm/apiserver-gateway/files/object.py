"""Creates, watches and deletes a config map: what `helm test` runs. Needs SERVER, CA_FILE and TOKEN; ends with 0 or a
traceback.
"""

import json
import os
import ssl
import urllib.request
import uuid

SERVER = os.environ["SERVER"] + "/api/v1/namespaces/default/configmaps"
CONTEXT = ssl.create_default_context(cafile=os.environ["CA_FILE"])
NAME = f"helm-test-{uuid.uuid4().hex[:8]}"


def request(method, path="", body=None):
    asked = urllib.request.Request(SERVER + path, method=method, data=body and json.dumps(body).encode())
    asked.add_header("Authorization", f"Bearer {os.environ['TOKEN']}")
    asked.add_header("Content-Type", "application/json")
    return urllib.request.urlopen(asked, timeout=30, context=CONTEXT)


with request("POST", body={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME}}) as answer:
    version = json.load(answer)["metadata"]["resourceVersion"]
watch = request("GET", f"?watch=true&resourceVersion={version}&fieldSelector=metadata.name%3D{NAME}&timeoutSeconds=30")
request("DELETE", f"/{NAME}").close()
event = json.loads(watch.readline())
if (event["type"], event["object"]["metadata"]["name"]) != ("DELETED", NAME):
    raise SystemExit(f"not the event that was waited for: {event}")
print(f"created, watched and deleted {NAME} at {SERVER}")
