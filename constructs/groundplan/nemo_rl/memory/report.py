"""The forecast as lines of text, for the command and for a job."""

from __future__ import annotations

from groundplan.nemo_rl.memory.forecast import GB, Forecast, saving

#: So many changes are shown, the least intrusive ones.
SHOWN = 4


def table(forecast: Forecast) -> list[str]:
    """Parts with their sum against the limit, peak and reserved memory, what was not measured, what a change saves."""
    sizes = {**forecast.parts, **forecast.beside}
    needed, limit = forecast.needed / GB, forecast.limit / GB
    return [
        *(f"  {size:8.2f}  {part}" for part, size in sizes.items()),
        f"  {needed:8.2f}  needed, of {limit:.0f}: {verdict(forecast)}",
        f"PyTorch's peak {forecast.step_peak / GB:.2f} GB, reserved {forecast.reserved / GB:.2f} GB; "
        f"the forecast errs by up to {100 * forecast.error:.0f} %",
        f"not measured: {', '.join(forecast.unmeasured)}",
        *(saving(change, forecast, after) for change, after in list(forecast.savings())[:SHOWN]),
    ]


def verdict(forecast: Forecast) -> str:
    """Whether it fits, in words."""
    if not forecast.near:
        return "fits"
    if forecast.fails:
        return "does not fit"
    return "within a tenth of the limit" if forecast.fits else "above the limit, by less than the forecast's error"
