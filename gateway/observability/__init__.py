"""What operators look at: logs, health checks, metrics that are read off the running parts, the watchdog."""
