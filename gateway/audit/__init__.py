"""Audit: who asked for what, and what came of it ("Auditing"). Imported only where a policy is given."""
