"""JSON patch, merge patch and strategic merge patch, each a module that gives the patched object."""
