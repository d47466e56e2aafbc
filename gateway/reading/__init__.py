"""The read side of endpoints: list options, pages, views, watch streams, older history."""
