"""Audit: records of requests and their outcomes ("Auditing"). Imported only with --audit-policy-file.

Enter by `auditing.audit_of`. `policy` says what is recorded, `event` makes an event, `sink` and `webhook` store it.
"""
