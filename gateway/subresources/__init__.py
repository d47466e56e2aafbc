"""Subresources that are more than their parent object with fewer fields."""
