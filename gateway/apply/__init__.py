"""Field sets, managed fields and server-side apply.

Start with `update_managed` (writes that are not applies) and `server_side_apply`.
"""

from gateway.apply.managed_fields import keep_timestamps, update_managed
from gateway.apply.server_side import server_side_apply

__all__ = ["keep_timestamps", "server_side_apply", "update_managed"]
