"""gateway.observability"""
