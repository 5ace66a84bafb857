"""The report as one HTML file: no script, nothing loaded from elsewhere, light and dark, printable."""

from __future__ import annotations

from importlib import resources

import jinja2
from markupsafe import Markup

from plan_review import report
from plan_review.assess import Assessment, Verdict

_CLASSES = {
    Verdict.SAFE: "safe",
    Verdict.ACCEPTED: "decision",
    Verdict.DECISION: "decision",
    Verdict.DANGEROUS: "dangerous",
}


def render(result: Assessment) -> str:
    """The whole page. Everything from the input is escaped by the template engine."""
    folder = resources.files(__package__)
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: folder.joinpath(name).read_text("utf-8")),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    verdict, _, counts = report.headline(result).partition(": ")
    return environment.get_template("report.html.j2").render(
        report=report,
        result=result,
        verdict=verdict.capitalize(),
        counts=counts,
        verdict_class=_CLASSES[result.verdict],
        style=Markup(folder.joinpath("report.css.j2").read_text("utf-8")),
        drawing=Markup(result.supplement.svg()),
        stacks=[(plan, report.tally(plan), report.rows(plan)) for plan in result.plans],
    )
