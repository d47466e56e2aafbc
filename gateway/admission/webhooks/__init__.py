"""Admission webhooks: servers of others that are asked about writes ("Dynamic Admission Control").

`configuration` has those that are in force and finds the ones that a write concerns; `mutating` and `validating` are
the two plug-ins, which ask them by `calling`; `review` is what is said there and back, `patching` what comes of it.
"""
