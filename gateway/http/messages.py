"""The messages that this server adds to ASGI, from an application to the connection's cycle.

| type   | members                                  | what the connection does                                     |
|--------|------------------------------------------|--------------------------------------------------------------|
| WHOLE  | `status`, `recurring`, `headers`, `body` | sends an answer in one write; `recurring` is a tuple of      |
|        |                                          | headers that other answers have, too                         |
| POUR   | `take`, `rests`                          | calls `take` with a sink for the chunks of the body; `rests` |
|        |                                          | says whether the answer may rest                             |
| REST   | `go_on`                                  | lets the answer rest: its task ends. When the sink is woken, |
|        |                                          | a new task calls `go_on` as the application                  |
| TUNNEL | `client`, set by the connection          | after a head with status 101: `client` is the client's end   |
|        |                                          | of the connection. The last message of a body ends it        |
| ABORT  |                                          | closes the connection before the answer is complete          |
| RESET  |                                          | resets the connection (TCP RST) at any time                  |

The ASGI extensions of a scope (`scope["extensions"]`) name the messages that its connection accepts.
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
"""The messages that every connection accepts."""

UPGRADABLE: dict[str, dict[str, object]] = {**EXTENSIONS, TUNNEL: {}}
"""The messages that a connection accepts if its request may be upgraded."""


class PlainHeaders(NamedTuple):
    """The headers of an answer that has only these two besides the recurring ones. The server made both values, so they
    are not checked.
    """

    audit_id: Header
    length: Header
