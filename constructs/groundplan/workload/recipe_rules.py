"""Rules of the names that the job asks the catalog for: the recipe and the release."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, Severity, rule
from groundplan.nemo_rl.config_rules import nearest
from groundplan.site.resolve import Site


@rule("unknown-recipe")
def unknown_recipe(site: Site) -> Iterator[Problem]:
    """The recipe must be in the catalog, or in a catalog file of the profile.

    Source: catalog recipes (`groundplan catalog recipes`), from NVIDIA-NeMo/RL, examples/configs.

    Mend: use a recipe of the catalog, or an entry in a catalog file of your own.
    """
    name = site.profile.workload.recipe
    if name not in site.catalog.recipes:
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
