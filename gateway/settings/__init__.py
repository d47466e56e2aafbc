"""The server's settings: flags, their table and values, configuration files.

The entry point is `command_line.settings_of`. It makes `config.Settings`, which never change.
"""
