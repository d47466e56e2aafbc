"""Custom resources: from a stored CustomResourceDefinition to a model that is served as a built-in one.

Enter by `model.model_of` and `model.resources_of`; `names` and `conditions` make the status of a CRD, `conversion`
calls its webhook, `cleanup` deletes its objects.
"""
