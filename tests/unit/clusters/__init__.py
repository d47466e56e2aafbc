"""Tests of gateway/clusters that need no server."""
