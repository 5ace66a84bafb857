"""Rules of several jobs beside one another: their names, and the nodes that they want at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from findings import Problem, rule
from groundplan.site.releases import job_releases
from groundplan.site.resolve import Site

#: Characters of a Helm release's name.
_LONGEST_RELEASE = 53


@rule("jobs-names")
def jobs_names(site: Site) -> Iterator[Problem]:
    """Each of several jobs has a name of its own, from which its Helm release is named too.

    Two jobs of one name would be one release: Terraform refuses the second. Helm takes 53 characters of a release.

    Source: Terraform documentation, "Resource blocks" (an address stands once); helm, pkg/chart/common/util
    (`maxReleaseNameLen`).

    Mend: another, or a shorter `name`.
    """
    whole = site.whole or site
    names = [str(part.spec.name) for part in whole.parts]
    for part in whole.parts:
        at = ("workload", "jobs", part.index, "name")
        if names.index(str(part.spec.name)) < part.index:
            yield Problem(at, f"workload.jobs: two jobs are called {part.spec.name}", "give each a name of its own")
    releases = {job.spec.name: release for release, job in job_releases(whole).values()} if whole.parts else {}
    for part in whole.parts:
        release = releases.get(part.spec.name, "")
        if len(release) > _LONGEST_RELEASE:
            over = len(release) - _LONGEST_RELEASE
            message = f"the job's release {release} has {len(release)} characters, and Helm takes {_LONGEST_RELEASE}"
            hint = f"use a name that is {over} shorter"
            yield Problem(("workload", "jobs", part.index, "name"), message, hint)


@rule("jobs-capacity")
def jobs_capacity(site: Site) -> Iterator[Problem]:
    """Several jobs want more nodes of a pool than it has, and no Kueue orders them.

    Every job starts as soon as it is applied. Without a queue each takes the nodes that it finds: of two that do not
    fit together both may hold a part, wait for the rest, and give up at their deadlines. Jobs that are suspended wait.

    Source: Kueue documentation, "All-or-nothing with ready Pods" (two jobs that wait for one another) and "Run A
    RayJob"; ray-project/kuberay, RayJob (no gang of its own).

    Mend: `platform.kueue.enabled: true`, more nodes, fewer or suspended jobs.
    """
    whole = site.whole or site
    if whole.profile.platform.kueue.enabled or not whole.parts:
        return
    wanted: dict[str, dict[str, int]] = defaultdict(dict)
    for job in whole.jobs:
        for share in job.worker_groups if not job.spec.suspend else ():
            wanted[share.pool.name][str(job.spec.name)] = share.nodes
    for pool in whole.pools:
        jobs = wanted[pool.name]
        total = sum(jobs.values())
        if len(jobs) > 1 and total > pool.max_nodes:
            each = " and ".join([", ".join(list(jobs)[:-1]), list(jobs)[-1]])
            message = (
                f"workload.jobs: {each} want {total} nodes of GPU pool {pool.name} together, which has "
                f"{pool.max_nodes}, and no Kueue orders them"
            )
            hint = f"set `platform.kueue.enabled: true`, or give the pool {total} nodes"
            yield Problem(("workload", "jobs"), message, hint)
