"""What projects import of the apiserver gateway: `apiserver_gateway.testing`.

It imports nothing of the server, which is a program of its own: it runs as a child process with its modules on a path
that nobody else has, so that no package of a project's takes the place of one of the server's, nor the other way round.
"""
