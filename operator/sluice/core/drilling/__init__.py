"""Failures on purpose.

records     what may be killed and when, and how a drill is asked for
answering   what the operator says to it, and how it notices the kill
"""
