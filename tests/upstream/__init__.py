"""Tools that judge the server or its tests, by hand or in the gate: `python -m tests.upstream NAME`."""

PEER = "1.37"
"""The minor of the kube-apiserver that this server is compared with: .ci/tools builds it."""
