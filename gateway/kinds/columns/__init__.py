"""Columns of Tables: which a kind has, and what its objects put into them ("Receiving resources as Tables").

`registry.columns_of` finds a built-in kind's, `custom.custom_columns` makes those of a custom resource definition.
"""
