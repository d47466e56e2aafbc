"""Objects in several versions: storage in another one, and conversion by a webhook."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from gateway.certificates import Certificates
from gateway.testing import ApiServer
from tests.integration.customresources.definitions import DEFINITIONS, MERGE, definition, establish, until, version
from tests.integration.server.client import ask
