"""Kinds: the registry of served resources, and for each kind its model, versions, strategy, columns and conversions.

Enter by `registry.Registry`, `model.Model` and `resource.Resource`; `strategies` has a module for each built-in kind.
"""
