"""Cluster IPs and node ports of services: handed out once, given back, repaired."""
