"""gateway.http"""
