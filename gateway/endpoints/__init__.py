"""Endpoints: what serves one version of a resource, the table of all, and routing by rule.

Enter by `table.Endpoints.of`, which finds an `endpoint.Endpoint`; `services.Services` has what all endpoints share.
"""
