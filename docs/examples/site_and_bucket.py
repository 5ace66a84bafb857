"""A whole site, and a bucket of our own in its storage stack.

Run as ``python docs/examples/site_and_bucket.py PROFILE OUT``.
"""

import sys
from pathlib import Path

from groundplan.emit.app import add_site

program = add_site(Path(sys.argv[2]), Path(sys.argv[1]))

# After add_site: it has loaded the bindings the fast way, and what is imported before it is loaded the slow one.
from groundplan.storage.constructs import Bucket, BucketProps  # noqa: E402

site = program.site
reports = BucketProps(name=f"{site.project}-reports", project=site.project, location=site.region, retention_days=7)
Bucket(program.stacks["storage"], "reports", reports)

program.synth()
