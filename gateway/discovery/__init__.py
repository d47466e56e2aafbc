"""Discovery: what a server serves, told to clients."""
