"""Cluster IPs and node ports of services: allocated, released, repaired. Enter by `services.ServiceAllocation`."""
