"""API Priority and Fairness: which requests go first, which wait and which are refused when there are too many.

Kubernetes, "API Priority and Fairness"; KEP-1040.
"""
