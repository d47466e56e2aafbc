"""Tests of gateway/controllers that need no server."""
