"""Encryption at rest ("Encrypting Confidential Data at Rest"): which resources, by which providers, with which keys.

The entry point is `encryption.Encryption`, the etcd client's transformer; `configuration` reads
--encryption-provider-config. The stored form is kube-apiserver's, so that each server can read the other's values.
"""
