"""A unittest test case with a server for the class and a namespace for each test."""

from __future__ import annotations

import unittest
from typing import ClassVar

from apiserver_gateway.testing.requests import namespace
from apiserver_gateway.testing.server import ApiServer, api_server


class ApiServerTestCase(unittest.TestCase):
    """`self.api` is a throw-away server that all tests of the class share; `self.namespace` is a new one for each test.

    `flags` are those of `apiserver-gateway serve`. For coroutines as tests, also derive from
    unittest.IsolatedAsyncioTestCase, after this class.
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
