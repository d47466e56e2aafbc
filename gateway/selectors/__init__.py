"""gateway.selectors"""
