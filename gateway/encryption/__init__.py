"""Encryption at rest ("Encrypting Confidential Data at Rest"): which resources, by which providers, with which keys.

`encryption.Encryption` is what the etcd client turns values with; `configuration` reads --encryption-provider-config.
Values are those of kube-apiserver, byte for byte: it reads what is written here, and the other way round.
"""
