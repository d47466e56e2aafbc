"""Tools that judge the server or its tests, by hand or in the gate: `python -m tests.upstream NAME`."""
