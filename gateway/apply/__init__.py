"""gateway.apply"""
