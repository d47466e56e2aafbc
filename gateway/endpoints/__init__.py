"""Endpoints: the parts that serve one version of a resource, the table of all endpoints, and routing by rule.

Start reading at `table.Endpoints.of`, which finds an `endpoint.Endpoint`; `services.Services` has the shared parts.
"""
