"""Admission policies: those in force (`policies`, `configuration`), and what they do (`validating`, `mutating`)."""
