"""Controllers: the server's work without a request.

Start with `running.Controllers`, which runs the controllers of `table` in the leader. In every process, `bootstrap`
creates the objects that every cluster has, `definitions` serves CustomResourceDefinitions, and `replicas` and
`identity` announce this server.
"""
