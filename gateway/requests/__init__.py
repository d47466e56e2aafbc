"""The way of a request from the connection to a verb and back.

Enter by `handler.Handler`, which runs the list of `stages`; `parts.Gateway` has the parts of a process.
"""
