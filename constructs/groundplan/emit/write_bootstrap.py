"""Writing the bootstrap stack: the bindings are loaded with the modules that no site needs."""

from __future__ import annotations

import tempfile
from pathlib import Path

from findings.printing import write_text
from groundplan.emit.bootstrap_values import Bootstrap
from groundplan.emit.modules import building, load

#: Provider modules of this stack alone.
MODULES = {"google": ("iam_workload_identity_pool", "iam_workload_identity_pool_provider", "project_iam_custom_role")}


def write_bootstrap(values: Bootstrap, out: Path) -> Path:
    """Write ``stacks/<site>-bootstrap/cdk.tf.json`` to `out`; its path. Raises UnavailableError and OSError."""
    load(MODULES)
    from groundplan.emit.bootstrap import BootstrapStack
    from groundplan.emit.stacks import build_app

    relative = Path("stacks", values.name, "cdk.tf.json")
    with tempfile.TemporaryDirectory(prefix="groundplan-") as scratch, building():
        app = build_app(Path(scratch))
        BootstrapStack(app, values)
        app.synth()
        text = (Path(scratch) / relative).read_text("utf-8")
    (out / relative).parent.mkdir(parents=True, exist_ok=True)
    write_text(out / relative, text)
    return out / relative
