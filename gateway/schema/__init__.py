"""The types of kinds, and reading and writing of JSON and protobuf by type.

Enter by `catalog.type_for`, which gives a `types.Type`; `decode` and `encode` go by it.
"""
