"""The documents by which other servers verify service account tokens: the issuer's metadata and its keys ("Service
account issuer discovery").
"""

from __future__ import annotations

from gateway.access.keys import verification_keys
from gateway.jsontypes import dumps
from gateway.settings.config import Settings

CONFIGURATION_PATH = "/.well-known/openid-configuration"
KEYS_PATH = "/openid/v1/jwks"
KEYS_TYPE = "application/jwk-set+json"
CACHE_CONTROL = "public, max-age=3600"


def configuration(settings: Settings, address: str) -> bytes:
    """The document of OpenID Connect Discovery; `address` is where this server is reached, HOST:PORT."""
    algorithms = sorted({key.algorithm for key in verification_keys(settings)})
    return dumps(
        {
            "issuer": settings.service_account_issuer[0],
            "jwks_uri": settings.service_account_jwks_uri or f"https://{address}{KEYS_PATH}",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": algorithms,
        }
    )


def key_set(settings: Settings) -> bytes:
    """The keys as a JSON web key set (RFC 7517)."""
    return dumps({"keys": [key.jwk() for key in verification_keys(settings)]})
