"""Forwards a request to another server, and its answer to the client: shared by proxies and aggregation.

`headers` removes headers that must not be forwarded, `upload` sends the body, `answers` returns the answer: as a
stream, or as a tunnel if the connection was upgraded.
"""
