"""gateway.controllers"""
