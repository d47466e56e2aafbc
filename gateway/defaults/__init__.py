"""gateway.defaults"""
