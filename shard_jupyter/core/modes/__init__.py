"""Modes: policy as data, and who keeps the current one."""
