"""Makes text that comes into the server valid Unicode."""
