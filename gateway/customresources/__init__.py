"""Custom resources: makes the models that serve the objects of CustomResourceDefinitions.

Start with `model.model_of` and `model.resources_of`. `names` and `conditions` compute the status of a CRD, `conversion`
calls its webhook, `cleanup` deletes its objects.
"""
