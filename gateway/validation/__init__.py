"""gateway.validation"""
