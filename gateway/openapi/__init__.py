"""OpenAPI v3 documents of what is served, one for each group version (Kubernetes API, "OpenAPI specification").

kubectl uses them to validate and merge objects, and to explain fields. Enter by `documents` (version 3) and
`version2_latest`.
"""
