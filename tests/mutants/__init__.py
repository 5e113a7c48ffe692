"""Deliberate mistakes: see ``catalogue``."""
