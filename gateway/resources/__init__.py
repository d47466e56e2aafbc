"""gateway.resources"""
