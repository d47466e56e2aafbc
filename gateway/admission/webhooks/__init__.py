"""Admission webhooks: other servers that are asked about writes ("Dynamic Admission Control").

`configuration` has the webhooks in force and finds those that match a write. `mutating` and `validating` are the two
plug-ins, which call a webhook by `calling`; `review` makes the request, `answer` reads the response, `patching` applies
its patch.
"""
