"""Resource quotas: what an object uses, which quotas limit it, and what its write charges to them.

`checking.check` checks one write, and `charging` changes the quotas in its transaction. `tallies` sums the usage of all
objects, for the controller. `evaluators` has a module for each evaluator.
"""
