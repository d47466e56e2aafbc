"""Resource quotas: what an object uses, by which quotas it is limited, and what its write charges to them.

`checking.check` decides of one write, `charging` takes part in its transaction, `tallies` counts what there is for the
controller. An evaluator a file, in `evaluators`.
"""
