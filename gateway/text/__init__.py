"""Text at the doors of the server."""
