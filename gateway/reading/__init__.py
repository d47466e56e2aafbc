"""Reads: list options, pages, views, watch streams, older history. Enter by `objects`, `lists` and `watch_stream`."""
