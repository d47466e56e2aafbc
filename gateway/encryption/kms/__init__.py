"""A key management service behind a unix socket, by version 2 of its API ("Using a KMS provider for data encryption").

The service never sees a value: it encrypts seeds, from which a key is derived for each value.
"""
