"""Measurements that are written down (*.yaml), and how such a file is read (`scenario`)."""
