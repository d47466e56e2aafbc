"""A request's way from the connection to a verb and back: `handler` is the way, `parts` what it is made with."""
