"""Logs, health checks, metrics that are computed at a scrape, and the watchdog of the event loop."""
