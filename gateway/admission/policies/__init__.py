"""Admission policies: the configuration that is in force, and what validating and mutating ones do with a write."""
