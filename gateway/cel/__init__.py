"""The expression language of rules and policies."""
