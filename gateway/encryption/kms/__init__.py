"""A key management service (KMS) behind a Unix socket, by API version 2 ("Using a KMS provider for data encryption").

The service never sees a value: it encrypts seeds, from which a key is derived for each value.
"""
