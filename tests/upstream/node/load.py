"""A program that asks a server steadily, each time over a new connection. Its arguments: URL, CA, token, rate, prefix.

It reads one ConfigMap; with a prefix it makes ConfigMaps whose names begin with that. It ends when standard input ends.
Then it prints which requests were answered, and a line for each that failed.
"""

from __future__ import annotations

import json
import ssl
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

_PATIENCE = 60.0  # seconds for an answer, on a busy machine


def main(url: str, authority: str, token: str, rate: float, prefix: str) -> None:
    """Prints a JSON object: the numbers of the answered requests, and the failures.

    A write with the number 7 makes the ConfigMap PREFIX-7.
    """
    context = ssl.create_default_context(cafile=authority)
    context.check_hostname = False
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    answered, failed, ended = list[int](), list[str](), threading.Event()
    path = f"{url}/api/v1/namespaces/default/configmaps"

    def ask(number: int) -> None:
        body = json.dumps({"metadata": {"name": f"{prefix}-{number}"}}).encode() if prefix else None
        request = urllib.request.Request(path if prefix else f"{path}/asked", body, headers)
        began_at = time.monotonic()
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE, context=context) as answer:
                json.load(answer)
        except urllib.error.HTTPError as error:
            failed.append(f"{_times(number / rate, began_at)}: {error.code} {error.read().decode()[:300]}")
        except (OSError, ValueError) as error:
            failed.append(f"{_times(number / rate, began_at)}: {error!r}")
        else:
            answered.append(number)

    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    with ThreadPoolExecutor(100) as pool:
        began, number = time.monotonic(), 0
        while not ended.is_set():
            pool.submit(ask, number)
            number += 1
            time.sleep(max(0.0, began + number / rate - time.monotonic()))
    print(json.dumps({"answered": answered, "failed": failed}))


def _times(sent: float, began: float) -> str:
    """When a request was sent after the start, and how long it took."""
    return f"after {sent:.1f} s, in {time.monotonic() - began:.1f} s"


if __name__ == "__main__":
    main(*sys.argv[1:4], float(sys.argv[4]), sys.argv[5])
