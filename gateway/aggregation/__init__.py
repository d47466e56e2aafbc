"""Extension API servers, which serve the group versions of APIServices ("Kubernetes API Aggregation Layer").

Start with `running.Aggregation`, which has all parts, in each process. `services` has all APIServices, `availability`
checks whether their servers answer, `registration` makes the APIServices of custom resources. `delegation` forwards
requests with the user's `identity`. `discovered` and `described` merge the servers' discovery and OpenAPI documents.
"""
