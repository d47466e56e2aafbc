"""Validation of built-in and custom objects: field errors in kube-apiserver's order and words.

There is a module for each kind, or part of one. Strategies call them; `field` has the errors.
"""
