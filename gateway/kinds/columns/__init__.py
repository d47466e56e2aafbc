"""The columns of a kind's Table, and the cells of its objects ("Receiving resources as Tables").

`registry.columns_of` finds those of a built-in kind, `custom.custom_columns` makes those of a CustomResourceDefinition.
"""
