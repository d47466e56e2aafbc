"""Custom resources: from a stored CustomResourceDefinition to a model that is served as every other."""
