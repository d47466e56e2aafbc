"""Authentication (`authentication`), impersonation (`impersonation`) and authorization (`authorization`, `modes`).

Start reading at `tokens.authenticator_of` and `modes.Authorization`: they make the authenticators and authorizers that
the settings name. `rbac`, `nodes` and `issuers` each hold one authorizer or authenticator.
"""
