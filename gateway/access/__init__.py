"""Who asks (`authentication`), as whom (`impersonation`), and whether they may (`authorization`, `modes`).

Enter by `tokens.authenticator_of` and `modes.Authorization`, which make what the settings ask for. `rbac`, `nodes` and
`issuers` have one authorizer or authenticator each.
"""
