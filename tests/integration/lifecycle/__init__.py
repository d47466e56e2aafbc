"""Deletion and what follows from it, on real servers."""
