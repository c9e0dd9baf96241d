"""Certificates as far as Python looks into them: pins and dates."""
