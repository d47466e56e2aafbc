"""The package of the apiserver gateway that other projects import: `apiserver_gateway.testing`.

It imports no module of the server. The server is a separate program, which runs as a child process with its own module
path. So packages of a project and modules of the server cannot shadow each other.
"""
