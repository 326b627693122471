"""Measure the disclosure and utility of a release."""
