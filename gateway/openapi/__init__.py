"""OpenAPI v3 documents of what is served, one for each group version (Kubernetes API, "OpenAPI specification").

kubectl asks them which parameters a request takes before it writes anything, and how to merge and explain fields.
"""
