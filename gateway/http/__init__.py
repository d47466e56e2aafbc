"""HTTP: connections and limits, request info, negotiation, Status, sending.

`protocol`, `cycle` and `accepting` are the connection; `exchange` has Request and Response; `status` makes errors.
"""
