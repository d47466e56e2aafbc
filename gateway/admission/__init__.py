"""gateway.admission"""
