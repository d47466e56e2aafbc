"""The testing API (/testing) and the recorder's pages (/debug/recorder) of one gateway, made at their first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gateway.http.send import Send
from gateway.requests.parts import Gateway

if TYPE_CHECKING:
    from gateway.trials.recorder_pages import RecorderPages
    from gateway.trials.testing_api import Clusters, TestingApi

_TESTING = "/testing/"
_RECORDER = "/debug/recorder"


class Trials:
    """The testing API and the recorder of a gateway, by --testing-api or --recorder."""

    def __init__(self, gateway: Gateway, clusters: Callable[[], Clusters | None], *, below: bool = False) -> None:
        """`clusters` makes control planes. `below`: the gateway is that of a control plane."""
        self._gateway, self._clusters, self._below = gateway, clusters, below
        self._tests: TestingApi | None = None
        self._pages: RecorderPages | None = None
        gateway.interposed.follows = True

    def begin(self) -> None:
        """Starts the recorder, if it is configured."""
        if self._gateway.settings.recorder:
            self._recorder().recorder.start()

    async def answered(self, scope: Any, receive: Any, send: Send) -> bool:
        """Answers a request that is for the testing API or the recorder; returns whether it was."""
        part: TestingApi | RecorderPages
        if self._gateway.settings.testing_api and scope["path"].startswith(_TESTING):
            part = self._for_tests()
        elif scope["path"].startswith(_RECORDER) and self._gateway.interposed.follows:
            part = self._recorder()
        else:
            return False
        if not part.serves(scope):
            return False
        self._gateway.interposed.in_use = True
        await part(scope, receive, send)
        return True

    def _for_tests(self) -> TestingApi:
        from gateway.trials.testing_api import TestingApi

        if self._tests is None:
            recorder = self._recorder().recorder
            self._tests = TestingApi(self._gateway, recorder, self._clusters(), has_clock=not self._below)
        return self._tests

    def _recorder(self) -> RecorderPages:
        from gateway.trials.recorder import FlightRecorder
        from gateway.trials.recorder_pages import RecorderPages

        if self._pages is None:
            self._pages = RecorderPages(FlightRecorder(self._gateway))
        return self._pages
