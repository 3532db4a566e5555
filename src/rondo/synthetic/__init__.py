"""Planted streams with known truth at both levels."""

from rondo.synthetic.plan import Gaps, Novelty, StreamPlan
from rondo.synthetic.streams import PlantedStream, plant, plant_subjects, structureless

__all__ = ["Gaps", "Novelty", "PlantedStream", "StreamPlan", "plant", "plant_subjects", "structureless"]
