"""Encoders that are trained, or come with weights; they need torch."""
