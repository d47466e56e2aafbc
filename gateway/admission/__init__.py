"""Admission: what looks at a write before it is made, and may change or refuse it ("Admission Control in Kubernetes").

`record` is what is looked at, `chain` in which order, `plugins` has a module for each that is built in.
"""
