"""How a request is handled from the connection to the verb and back.

Start reading at `handler.Handler`, which runs the list of `stages`; `parts.Gateway` has the parts of a process.
"""
