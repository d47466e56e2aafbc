"""The types of kinds; JSON, YAML and protobuf are read and written by these types.

Begin with `catalog.type_for`, which returns a `types.Type`; `decode` and `encode` use it.
"""
