"""Vocabularies of units and motifs, with ids that are never reused."""

from __future__ import annotations

from rondo.vocabulary.confusion import MergeStep, MergeTree, merge_tree
from rondo.vocabulary.edit import Edit
from rondo.vocabulary.edits import Edits
from rondo.vocabulary.names import EntryId
from rondo.vocabulary.vocabulary import Entry, Level, Vocabulary

__all__ = ["Edit", "Edits", "Entry", "EntryId", "Level", "MergeStep", "MergeTree", "Vocabulary", "merge_tree"]
