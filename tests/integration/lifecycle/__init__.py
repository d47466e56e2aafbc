"""Deletion, garbage collection and the other controllers, on real servers."""
