"""OpenAPI documents of the served resources (Kubernetes API, "OpenAPI specification").

kubectl uses them to validate and merge objects, and to explain fields. Start with `documents` (version 3, a document
for each group version) and `version2_latest` (one document).
"""
