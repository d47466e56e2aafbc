"""Extension servers: group versions that an APIService leaves to another server ("Kubernetes API Aggregation Layer").

`services` knows all APIServices, `availability` looks whether their servers answer, `registration` keeps those of
custom resources, `delegation` passes requests on, `identity` says on whose behalf; `discovered` and `described` merge
what the servers say of themselves into discovery and OpenAPI. `running.Aggregation` is all of it, in each process.
"""
