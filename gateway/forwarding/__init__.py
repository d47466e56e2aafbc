"""Passing a request on to another server, and its answer back: what proxies and aggregation have in common.

`headers` says what must not pass, `upload` carries the body there, `answers` the answer back: as a stream, or as a
tunnel where the connection was upgraded.
"""
