"""Rules of the names that the job asks the catalog for: the recipe and the release."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, Severity, rule
from groundplan.nemo_rl.config_rules import nearest
from groundplan.nemo_rl.releases import GRPO, WORKDIR
from groundplan.site.resolve import Site


@rule("unknown-recipe")
def unknown_recipe(site: Site) -> Iterator[Problem]:
    """The recipe must be in the catalog, or in a catalog file of the profile.

    Source: catalog recipes (`groundplan catalog recipes`), from NVIDIA-NeMo/RL, examples/configs.

    Mend: use a recipe of the catalog, or an entry in a catalog file of your own.
    """
    name = site.profile.workload.recipe
    if name not in site.catalog.recipes and site.config_file is None:
        hint = nearest(name, site.catalog.recipes)
        yield Problem(("workload", "recipe"), f"workload.recipe: there is no recipe `{name}`", hint)


@rule("unknown-release")
def unknown_release(site: Site) -> Iterator[Problem]:
    """The NeMo RL release must be in the catalog: its Ray, its entry script and its configuration keys stand there.

    Source: catalog releases (`groundplan catalog releases`), from the tags of NVIDIA-NeMo/RL.

    Mend: use a release of the catalog, or an entry in a catalog file of your own once you have tried it.
    """
    name = site.profile.workload.release
    if name is not None and name not in site.catalog.releases:
        hint = nearest(name, site.catalog.releases)
        yield Problem(("workload", "release"), f"workload.release: NeMo RL {name} is not in the catalog", hint)


@rule("release-unconfirmed", Severity.WARNING)
def release_unconfirmed(site: Site) -> Iterator[Problem]:
    """Not all that groundplan uses of the release is known for sure: it came after the sources that were read.

    Source: the catalog's entry of the release (`unconfirmed`), with what its public pages say.

    Mend: use the default release, or try the smoke recipe first and note what you found in a catalog file of your own.
    """
    job = site.job
    if job is not None and job.release.unconfirmed:
        message = f"NeMo RL {job.release.version}: not confirmed are {job.release.unconfirmed}"
        hint = f"use {site.catalog.default_release}, or try the smoke recipe on one node first"
        yield Problem(("workload", "release"), message, hint)


@rule("config-file")
def config_file(site: Site) -> Iterator[Problem]:
    """A configuration of your own is a YAML file beside the profile, composed of files that are known.

    It may inherit from files beside it and from grpo_math_1B.yaml of the image, whose keys are known of each release;
    and it stands for the recipe, so that only one of the two can be given.

    Source: NVIDIA-NeMo/RL, nemo_rl/utils/config.py (`defaults`, `_override_`); Kubernetes documentation, "ConfigMaps"
    (1 MiB at most).

    Mend: name a file beside the profile, and put what it inherits from there as well.
    """
    spec, file, at = site.profile.workload, site.config_file, ("workload", "config")
    if file is None:
        return
    if file.fault:
        yield Problem(at, f"workload.config `{file.name}`: {file.fault}", file.hint)
    if "recipe" in spec.model_fields_set:
        message = f"workload.config `{file.name}` and workload.recipe `{spec.recipe}` are both given"
        yield Problem(at, message, "leave one of them out: the file stands for the recipe")


@rule("entry-script")
def entry_script(site: Site) -> Iterator[Problem]:
    """The image has the entry script, or it lies on the shared volume.

    A script of another algorithm than GRPO needs a configuration of its own, for all recipes are GRPO's.

    Source: NVIDIA-NeMo/RL, examples/ at the tags, as far as seen (`scripts` of the catalog's releases).

    Mend: use a script that the finding names, or one under the mount of the shared volume.
    """
    job, at = site.job, ("workload", "script")
    if job is None or job.spec.script is None:
        return
    script, release = job.spec.script, job.release
    if script.startswith("/") and not script.startswith(f"{WORKDIR}/"):
        if not job.shares(script):
            message = f"workload.script {script} is not under {job.mount_path}, where the shared volume is"
            yield Problem(at, message, "put it there, or use a script of the image")
    elif script.removeprefix(f"{WORKDIR}/") not in release.scripts:
        known = ", ".join(release.scripts)
        message = f"workload.script: the image of NeMo RL {release.version} has no {script}, as far as known"
        yield Problem(at, message, f"use one of: {known}; or one of your own under {job.mount_path}")
    elif release.algorithm != GRPO and job.file is None:
        message = f"workload.script {script} trains by {release.algorithm}, and a recipe is a configuration of GRPO"
        yield Problem(at, message, "name a configuration of your own in `workload.config`")


@rule("script-unjudged", Severity.WARNING)
def script_unjudged(site: Site) -> Iterator[Problem]:
    """Configurations of another algorithm than GRPO are composed and started, and not judged.

    Source: groundplan's own limit: the conditions that it knows are GRPO's (docs/nemo-rl-conditions.md).

    Mend: try it on one node first; or ignore the finding with your reason.
    """
    job = site.job
    if job is not None and job.release.algorithm != GRPO:
        message = (
            f"workload.script {job.release.script} trains by {job.release.algorithm}: its configuration is not judged"
        )
        yield Problem(("workload", "script"), message, "try it on one node and a few steps first")
