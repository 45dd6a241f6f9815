"""Bridges to other programs: each subpackage stands alone and may use every layer below."""
