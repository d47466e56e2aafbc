"""Encryption at rest ("Encrypting Confidential Data at Rest"): which resources, by which providers, with which keys.

Enter by `encryption.Encryption`, the etcd client's transformer; `configuration` reads --encryption-provider-config. The
stored form is kube-apiserver's, so that each can read what the other has written.
"""
