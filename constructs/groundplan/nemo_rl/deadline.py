"""When the last checkpoint is saved, from the job's deadline."""

from __future__ import annotations

#: The key by which NeMo RL saves a checkpoint and ends the training, counted from the start of its loop.
SAVE_BY = "checkpointing.checkpoint_must_save_by"
#: Minutes that are kept for starting up before the loop, and for the save.
_KEPT = 60


def must_save_by(deadline_hours: int) -> str:
    """DD:HH:MM:SS, an hour before the deadline; of a short one, when three quarters of it are over."""
    minutes = deadline_hours * 60 - min(_KEPT, deadline_hours * 15)
    return f"{minutes // 1440:02}:{minutes // 60 % 24:02}:{minutes % 60:02}:00"
