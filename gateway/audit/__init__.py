"""Audit: events about requests and their outcomes ("Auditing"). Imported only with --audit-policy-file.

Start reading at `auditing.audit_of`. `policy` picks requests, `event` makes events, `sink` and `webhook`
write or send them.
"""
