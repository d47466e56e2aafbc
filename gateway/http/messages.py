"""The ASGI messages that this server adds to those of ASGI: from an application to the connection's cycle.

| type   | members                                  | what the connection does                                     |
|--------|------------------------------------------|--------------------------------------------------------------|
| WHOLE  | `status`, `recurring`, `headers`, `body` | sends an answer in one write; `recurring` is a tuple of      |
|        |                                          | headers that come again in other answers                     |
| POUR   | `take`, `rests`                          | calls `take` with a sink for the chunks of the body; `rests` |
|        |                                          | says whether the answer may rest                             |
| REST   | `go_on`                                  | has the answer rest: no task is left. `go_on` is called as   |
|        |                                          | the application when the sink is woken                       |
| TUNNEL | `client`, set by the connection          | after a head with status 101: `client` is the client's end   |
|        |                                          | of the connection. The last message of a body ends it        |
| ABORT  |                                          | ends the connection where the answer is not complete         |
| RESET  |                                          | resets the connection, whatever part of the answer was sent  |

ASGI's extensions (`scope["extensions"]`) name those that a connection takes.
"""

from __future__ import annotations

from typing import NamedTuple

from gateway.http.exchange import Header

WHOLE = "http.response.whole"
POUR = "http.response.pour"
REST = "http.response.rest"
TUNNEL = "http.response.tunnel"
ABORT = "http.response.abort"
RESET = "http.response.reset"

EXTENSIONS: dict[str, dict[str, object]] = {WHOLE: {}, POUR: {}}
"""The messages that every connection takes."""

UPGRADABLE: dict[str, dict[str, object]] = {**EXTENSIONS, TUNNEL: {}}
"""The messages that a connection takes whose request may be upgraded."""


class PlainHeaders(NamedTuple):
    """The headers of an answer that has only these two of its own. The server made both values: none is checked."""

    audit_id: Header
    length: Header
