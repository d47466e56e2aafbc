"""Admission: plug-ins that may change or refuse a write before it is made ("Admission Control in Kubernetes").

Enter by `plugins.chain_for`, which makes the chain of a resource; `chain.Chain` runs it over a `record.Admission`.
`plugins` has a module for each built-in plug-in, `webhooks`, `policies`, `podsecurity` and `limits` what they need.
"""
