"""Who asks (`authentication`), as whom (`impersonation`), and whether they may (`authorization`, `modes`)."""
