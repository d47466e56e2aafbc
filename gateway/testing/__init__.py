"""`apiserver_gateway.testing` by the name it has in this repository's own tests."""

from apiserver_gateway.testing import *  # noqa: F403
from apiserver_gateway.testing import __all__ as __all__
