"""The API server; the package `launch` starts it."""
