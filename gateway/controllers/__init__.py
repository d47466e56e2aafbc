"""Controllers: what the server does without a request.

Enter by `running.Controllers`, which runs the elected controllers of `table`; `bootstrap` makes the objects that every
cluster has, `definitions` serves CustomResourceDefinitions, `replicas` and `identity` say which servers there are.
"""
