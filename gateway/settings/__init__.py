"""What the server was told: flags, their table and values, files of them, and the settings made from all that.

Enter by `flags.parse`; everything else takes `config.Settings`, which never changes.
"""
