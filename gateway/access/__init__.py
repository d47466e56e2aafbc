"""gateway.access"""
