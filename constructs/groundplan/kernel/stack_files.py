"""Where files stand beside a stack's cdk.tf.json."""

from __future__ import annotations

#: Folder of the chart that passes Kubernetes objects through.
CHART = "chart"
#: Folder of the values of releases, one YAML file a release.
MANIFESTS = "manifests"
