"""The app that ``cdktf synth`` runs (see cdktf.json); ``groundplan synth`` writes the same files without the cdktf CLI.

The profile is the one that GROUNDPLAN_PROFILE names, else the ``profile`` context of cdktf.json.
"""

import os

from groundplan.cli import cli, run

if __name__ == "__main__":
    arguments = ["synth", "-q", "-o", os.environ.get("CDKTF_OUTDIR", "cdktf.out")]
    run(lambda: cli.main(arguments, "groundplan", standalone_mode=False))
