"""What people change about what was found: names, merges, splits, frames, and the way back."""

from __future__ import annotations

from rondo.editing.applying import apply_edits, apply_file, edits_in, undo_edit
from rondo.editing.showing import show_edits
from rondo.editing.vocabularies import EditedVocabulary, editing, model_folder, open_vocabulary

__all__ = [
    "EditedVocabulary",
    "apply_edits",
    "apply_file",
    "editing",
    "edits_in",
    "model_folder",
    "open_vocabulary",
    "show_edits",
    "undo_edit",
]
