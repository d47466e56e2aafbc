"""JSON patch, merge patch and strategic merge patch. Each has a module that returns the patched object."""
