"""Mutation testing of the C core: one operator is changed at a time, and a test must notice."""
