"""Write GSM8K's train and test split as JSONL, question and answer, the answer being the number after ####.

Standalone: it runs in the training image. Each file is written under another name first, so that one that is there is
whole, and two jobs that do it at once do no harm.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any


def main(folder: Path) -> None:
    """Both files, in `folder`; one that is there stays."""
    datasets: Any = importlib.import_module("datasets")
    folder.mkdir(parents=True, exist_ok=True)
    for split in ("train", "test"):
        path = folder / f"{split}.jsonl"
        if path.exists():
            continue
        partial = folder / f".{split}.{os.uname().nodename}.{os.getpid()}"
        with partial.open("w", encoding="utf-8") as file:
            for row in datasets.load_dataset("openai/gsm8k", "main", split=split):
                answer = row["answer"].split("####")[-1].strip().replace(",", "")
                file.write(json.dumps({"question": row["question"], "answer": answer}) + "\n")
        partial.replace(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
