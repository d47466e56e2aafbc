"""gateway.patches"""
