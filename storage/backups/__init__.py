"""Backups of all keys under a prefix: a file of one revision (file), made (taking) and put back (restoring)."""
