"""gateway.schema"""
