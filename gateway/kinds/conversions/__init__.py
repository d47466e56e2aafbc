"""Conversions between the versions of a kind."""
