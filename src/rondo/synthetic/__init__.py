"""Planted streams with known truth at both levels."""

from rondo.synthetic.streams import Gaps, Novelty, PlantedStream, StreamPlan, plant, plant_subjects, structureless

__all__ = ["Gaps", "Novelty", "PlantedStream", "StreamPlan", "plant", "plant_subjects", "structureless"]
