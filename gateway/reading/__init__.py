"""Reads: list options, single objects, pages of lists, watch streams and their views, older history.

Start reading at `objects`, `lists` and `watch_stream`.
"""
