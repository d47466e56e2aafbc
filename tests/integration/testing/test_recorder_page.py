"""The recorder's page in headless Chromium: it is one file, needs no network, and scrolls through 10 000 events."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gateway.trials.recorder_pages import page
from tests.limits import Withheld, at_most

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium: Debian has it as the package chromium")
EVENTS = 10_000
FRAME = 33  # milliseconds for a scroll step, in the best of several attempts: the machine may be busy

LOOK = """<script>
addEventListener("load", () => setTimeout(() => {
  const box = document.getElementById("time");
  let most = 0;
  const steps = [];
  for (let attempt = 0; attempt < 4; attempt += 1) {
    for (let top = 0, step = 0; top < box.scrollHeight; top += 1700, step += 1) {
      const began = performance.now();
      box.scrollTop = top;
      box.dispatchEvent(new Event("scroll"));
      box.getBoundingClientRect();
      steps[step] = Math.min(performance.now() - began, steps[step] ?? Infinity);
      most = Math.max(most, box.querySelectorAll(".row").length);
    }
  }
  const all = [...document.querySelectorAll("#detail dt")].map(dt => [dt.textContent, dt.nextSibling.textContent]);
  const text = each => each.textContent.replace(/ +/g, " ").trim();
  const lines = kind => [...document.querySelectorAll("pre ." + kind)].map(text);
  document.title = JSON.stringify({
    step: steps.sort((a, b) => a - b)[steps.length >> 1], most,
    height: box.scrollHeight, count: document.getElementById("count").textContent,
    detail: all, added: lines("a"), cut: lines("d"), same: lines("s"), folded: lines("fold"),
    network: performance.getEntriesByType("resource").length,
    shown: document.querySelector("#time .row").textContent,
    side: [...document.querySelectorAll("#side .row")].map(each => each.textContent),
  });
}, 0));
</script>"""


def config_map(colour: str) -> dict[str, Any]:
    same = {f"same-{number}": "yes" for number in range(9)}
    data = {"colour": colour, **same, "text": f"one\n{colour} two\nthree\n"}
    owner = {"kind": "Website", "name": "home"}
    return {"kind": "ConfigMap", "metadata": {"name": "<b>a</b>", "ownerReferences": [owner]}, "data": data}


def told() -> bytes:
    """As many events as the page must handle: every second one a request, the last ones about one object."""
    key = "configmaps/default/a"
    path = "/api/v1/namespaces/default/configmaps"
    events: list[dict[str, Any]] = [
        {"n": n, "at": 1.8e9 + n, "what": "request", "user": f"user-{n % 7}", "agent": "</script>", "verb": "get",
         "path": f"{path}/m{n}", "key": f"configmaps/default/m{n}", "status": 404 if n % 1000 == 500 else 200, "ms": 1}
        for n in range(1, EVENTS - 2)
    ]  # fmt: skip
    change = {"at": 1.9e9, "what": "change", "key": key, "writer": "ada (kubectl)"}
    events += [
        {**change, "n": EVENTS - 2, "type": "ADDED", "revision": 5, "object": config_map("blue")},
        {**change, "n": EVENTS - 1, "type": "MODIFIED", "revision": 6, "object": config_map("red")},
        {**change, "n": EVENTS, "type": "DELETED", "revision": 7},
    ]
    gone = [{"n": EVENTS, "why": ["deleted by ada (kubectl)", "its owner was Website home"]}]
    return json.dumps({"last": EVENTS, "dropped": 0, "events": events, "gone": gone}).encode()


def seen(directory: Path, place: str) -> dict[str, Any]:
    """What a user sees who opens the page at an anchor."""
    path = directory / "page.html"
    path.write_bytes(page(told()).replace(b"</body>", LOOK.encode() + b"</body>"))
    words = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom"]
    words += [f"--user-data-dir={directory}/profile", f"file://{path}#{place}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200)
    found = re.search(r"<title>(\{.*?\})</title>", done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:] + done.stdout[-2000:]
    looked: dict[str, Any] = json.loads(html.unescape(found[1]))
    return looked


def test_ten_thousand_events_scroll(tmp_path: Path) -> None:
    withheld = Withheld()
    looked = seen(tmp_path, f"n={EVENTS - 1}")
    assert looked["count"] == f"{EVENTS} of {EVENTS}" and looked["height"] == EVENTS * 22
    assert looked["most"] < 200
    allowed = FRAME + withheld.until_now() * 1000
    at_most(looked["step"], allowed, "a step took {found:.0f} ms, {limit:.0f} ms are allowed")
    assert looked["network"] == 0
    assert looked["cut"] == ["- colour: blue", "- blue two"] and looked["added"] == ["+ colour: red", "+ red two"]
    assert looked["folded"] == ["… 4 lines that are the same", "… 5 lines that are the same"]
    assert {"- kind: Website", "text: |", "one"} <= set(looked["same"])
    assert ["written by", "ada (kubectl)"] in looked["detail"]


def test_failures_alone(tmp_path: Path) -> None:
    looked = seen(tmp_path, "failed=1")
    assert looked["count"] == f"{EVENTS // 1000} of {EVENTS}"
    assert "404" in looked["shown"] and "m500" in looked["shown"]
    assert len(looked["side"]) == 7, "clients that have failed"


def test_a_search_and_why_an_object_is_gone(tmp_path: Path) -> None:
    looked = seen(tmp_path, f"q=ada+deleted&by=objects&n={EVENTS}")
    assert looked["count"] == f"1 of {EVENTS}"
    assert ["why gone", "its owner was Website home"] in looked["detail"]
    assert any("configmaps/default/a" in each for each in looked["side"])
