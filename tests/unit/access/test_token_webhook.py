"""Answers of a token webhook are remembered for a time, and up to some bytes."""

from __future__ import annotations

import tracemalloc
from typing import cast

from gateway.access.remote import Remote
from gateway.access.token_webhook import WebhookTokens
from gateway.jsontypes import JsonObject


class Service:
    """Authenticates every token, as a user in many groups."""

    def __init__(self, groups: int) -> None:
        self._groups, self.asked = groups, 0

    async def ask(self, review: JsonObject) -> JsonObject:
        self.asked += 1
        groups = [f"{self.asked}-{number}" for number in range(self._groups)]
        return {"status": {"authenticated": True, "user": {"username": "ada", "groups": groups}}}


async def test_a_token_is_asked_about_once() -> None:
    service = Service(2)
    tokens = WebhookTokens(cast(Remote, service), "v1", (), 60.0)
    first = await tokens.authenticate("a", ())
    assert first is not None and await tokens.authenticate("a", ()) is first
    assert service.asked == 1 and first.user.groups == ("1-0", "1-1")


async def test_users_in_many_groups_are_remembered_up_to_a_few_megabytes() -> None:
    service = Service(1000)
    tokens = WebhookTokens(cast(Remote, service), "v1", (), 60.0)
    tracemalloc.start()
    try:
        for number in range(400):
            await tokens.authenticate(f"{number}", ())
        assert tracemalloc.get_traced_memory()[0] < 12 << 20
    finally:
        tracemalloc.stop()
    await tokens.authenticate("399", ())
    assert service.asked == 400
