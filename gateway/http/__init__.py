"""HTTP: connections and limits, request info, content negotiation, Status, sending of answers.

`accepting`, `protocol` and `cycle` handle connections; `exchange` has Request and Response; `status` makes errors.
"""
