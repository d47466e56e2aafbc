"""The checks of `apiserver-gateway doctor`: whether a server with these flags would work, and remedies if not.

The entry point is `examination.examine`.
"""
