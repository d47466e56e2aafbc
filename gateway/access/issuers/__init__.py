"""Tokens of other issuers: OpenID Connect (page "Authenticating", "OpenID Connect Tokens")."""
