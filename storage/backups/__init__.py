"""Backups of all keys under a prefix at one revision: the file format (file), how to make (take) and restore one."""
