"""A test case of unittest's with a server for its class and a namespace for each test."""

from __future__ import annotations

import unittest
from typing import ClassVar

from apiserver_gateway.testing.requests import namespace
from apiserver_gateway.testing.server import ApiServer, api_server


class ApiServerTestCase(unittest.TestCase):
    """`self.api` is a throw-away server that the class's tests share, `self.namespace` a namespace of each one's own.

    `flags` are those of `apiserver-gateway serve`. For tests that are coroutines, derive from
    unittest.IsolatedAsyncioTestCase too, after this class.
    """

    api: ClassVar[ApiServer]
    flags: ClassVar[tuple[str, ...]] = ()
    namespace: str

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.api = cls.enterClassContext(api_server(*cls.flags))

    def setUp(self) -> None:
        super().setUp()
        self.namespace = self.enterContext(namespace(self.api))
