"""The server's settings: flags, their table and values, configuration files.

Enter by `flags.parse`, which makes `config.Settings`; these never change.
"""
