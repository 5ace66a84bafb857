"""Recognising literal secrets, so that none is ever written, stored or echoed.

A profile holds references only. Anything that looks like a token is refused wherever it stands, comments included, and
every text that groundplan prints back from user input goes through :func:`mask_secrets` first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: What a secret is replaced by wherever text is shown.
MASK = "********"


@dataclass(frozen=True, slots=True)
class Pattern:
    """How one kind of secret looks. `example` must be caught by it, `near_miss` by none; the tests hold both."""

    name: str
    regex: str
    example: str
    near_miss: str


#: Prefixes are the issuers' own, published for secret scanners. The examples are put together, so that no scanner of a
#: repository takes them for real ones.
PATTERNS = (
    Pattern("Hugging Face token", r"\bhf_[A-Za-z0-9]{16,}", "hf_" + "aB3" * 6, "hf_" + "aB3" * 5),
    Pattern(
        "Hugging Face organisation token", r"\bapi_org_[A-Za-z0-9]{16,}", "api_org_" + "aB3" * 6, "api_org_" + "aB3" * 5
    ),
    Pattern(
        "Weights & Biases API key", r"\bwandb_v[0-9]_[A-Za-z0-9_]{16,}", "wandb_v1_" + "aB3" * 6, "wandb_v_" + "aB3" * 6
    ),
    Pattern("NVIDIA API key", r"\bnvapi-[A-Za-z0-9_-]{16,}", "nvapi-" + "aB-" * 6, "nvapi-" + "aB-" * 5),
    Pattern(
        "GitHub token",
        r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}",
        "ghp_" + "aB3" * 7,
        "ghx_" + "aB3" * 7,
    ),
    Pattern("GitLab token", r"\bglpat-[A-Za-z0-9_-]{16,}", "glpat-" + "aB3" * 6, "glpat-" + "aB3" * 5),
    Pattern("Google API key", r"\bAIza[0-9A-Za-z_-]{30,}", "AIza" + "aB3" * 10, "AIza" + "aB" * 14),
    Pattern(
        "Google OAuth token",
        r"\bya29\.[0-9A-Za-z_-]{16,}|\b1//0[0-9A-Za-z_-]{30,}",
        "ya29." + "aB3" * 6,
        "ya29." + "aB3" * 5,
    ),
    Pattern(
        "private key",
        r"-----BEGIN [A-Z ]*PRIVATE KEY",
        "-----BEGIN RSA " + "PRIVATE KEY-----",
        "-----BEGIN RSA " + "PUBLIC KEY-----",
    ),
    Pattern("AWS access key", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", "AKIA" + "A2" * 8, "AKIA" + "A2" * 7),
    Pattern(
        "OpenAI or Anthropic key",
        r"\bsk-(?:ant|proj)-[A-Za-z0-9_-]{16,}|\bsk-[0-9a-f]{32,64}\b"
        r"|\bsk-(?=[A-Za-z_-]{0,60}[0-9])(?=[a-z0-9_-]{0,60}[A-Z])[A-Za-z0-9_-]{20,}",
        "sk-" + "proj-" + "aB3" * 6,
        "sk-learn-and-some-more-words-of-prose",
    ),
    Pattern("Slack token", r"\bxox[abprs]-[A-Za-z0-9-]{10,}", "xoxb-" + "a1" * 5, "xoxz-" + "a1" * 5),
    Pattern(
        "Terraform Cloud token",
        r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{30,}",
        "aB" * 7 + ".atlasv1." + "aB3" * 10,
        "aB" * 6 + ".atlasv1." + "aB3" * 10,
    ),
    Pattern(
        "JSON web token",
        r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*",
        "eyJ" + "aB3" * 4 + ".eyJ" + "aB3" * 4 + ".x",
        "eyJ" + "aB3" * 4 + ".abc" + "aB3" * 4 + ".x",
    ),
    Pattern(
        "password in a URL",
        r"\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@]+:[^\s/:@]+@",
        "https://user:" + "word@host",
        "https://host:8080/user@host",
    ),
)
_COMPILED = {pattern.name: re.compile(pattern.regex) for pattern in PATTERNS}
_ANY = re.compile("|".join(f"(?:{pattern.regex})" for pattern in PATTERNS))

#: An older W&B API key is forty hexadecimal digits, and so is a git commit: what stands beside it tells.
_OLD_WANDB = re.compile(r"(?<![0-9A-Za-z:@/_-])[0-9a-f]{40}(?![0-9A-Za-z_-])")
_OLD_WANDB_NEAR = re.compile(r"(?i)wandb|token|key|secret|password")

#: Names whose literal value is a secret whatever it looks like: HF_TOKEN, WANDB_API_KEY, MYPASSWORD, hftoken ... A
#: `key` alone is one only in capitals (WANDB_KEY): `input_key` and `sort_key` name columns.
_SECRET_NAME = re.compile(
    r"(?i:token|secret|password|passwd|credentials?|(?:api|access|private|secret|auth|wandb|hf)[_-]?key)$"
    r"|(?:^|[^A-Za-z0-9])[A-Z0-9_]*[A-Z0-9_]KEY$"
)
_NO_SECRET_NAME = re.compile(r"(?i)(?:public_?|pub|mon|tur|don|hoc|joc|whis|hot|primary_|sort_|foreign_)key$")

#: Words before "token" that make it a credential, as none does; `pad_token` or `stop_token` is a piece of text.
_CREDENTIAL = re.compile(
    r"(?i)(?:^|[_.-])(?:hf|hub|hugging_?face|wandb|api|auth|access|bearer|refresh|session|github|ngc)[_-]?token$"
    r"|(?:^|\.)token$"
)

#: What a credential of unknown make looks like.
_OPAQUE = re.compile(r"[A-Za-z0-9_\-./+=]{16,}\Z")

#: Letters from a name's end that are looked at, so that a name of a megabyte costs nothing.
_LONGEST_END = 80

#: A name and what is given to it, as YAML, JSON and shells write it: ``HF_TOKEN: x``, ``"token": x``, ``--password=x``.
_GIVEN = re.compile(r"""(?<![A-Za-z0-9_.-])([A-Za-z0-9_.-]+)["']?\s*[:=]\s*\S""")


def find_secrets(text: str) -> list[tuple[int, int, str]]:
    """Every literal secret in `text`: line and column (from 1) and the kind; never the value."""
    if not _ANY.search(text) and not _OLD_WANDB.search(text):
        return []
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        for what, pattern in _COMPILED.items():
            found += [(number, match.start() + 1, what) for match in pattern.finditer(line)]
        if _OLD_WANDB_NEAR.search(line):
            found += [(number, match.start() + 1, "Weights & Biases API key") for match in _OLD_WANDB.finditer(line)]
    return sorted(found)


def looks_secret(value: str, name: str = "") -> bool:
    """Whether `value` holds something that looks like a secret; `name`, of what it is given to, decides the doubtful.

    Forty hexadecimal digits are a W&B key beside a word such as wandb or token, and else a git commit.
    """
    if _ANY.search(value):
        return True
    return bool(_OLD_WANDB.search(value)) and bool(_OLD_WANDB_NEAR.search(name) or _OLD_WANDB_NEAR.search(value))


def mask_secrets(text: str) -> str:
    """`text` with everything that looks like a secret, or like a W&B key or git commit, replaced by asterisks."""
    return _OLD_WANDB.sub(MASK, _ANY.sub(MASK, text))


def is_secret_name(name: str) -> bool:
    """Whether an environment variable or key of this name would hold a secret (``HF_TOKEN``, ``WANDB_API_KEY``)."""
    end = name[-_LONGEST_END:]
    return bool(_SECRET_NAME.search(end)) and not _NO_SECRET_NAME.search(end)


def is_secret_literal(name: str, value: str) -> bool:
    """Whether a literal given to `name` is a secret, whatever it looks like; a reference (``${...}``) is none.

    What every other name that ends in "token" is given must look like a credential: `stop_token` is a piece of text.
    """
    end = name[-_LONGEST_END:]
    if not value or value.startswith("${") or not is_secret_name(end):
        return False
    if end.lower().endswith("token") and not _CREDENTIAL.search(end):
        return bool(_OPAQUE.match(value))
    return True


def names_secret(line: str) -> bool:
    """Whether a line of text gives something to a secret's name, which makes it unfit to be shown."""
    return any(is_secret_name(match[1]) for match in _GIVEN.finditer(line))


def is_secret_path(path: tuple[str | int, ...]) -> bool:
    """Whether what stands at this place of a profile is never shown: `secrets` and all that is named like a secret."""
    return path[:1] == ("secrets",) or any(is_secret_name(part) for part in path if isinstance(part, str))


def printable_report(report: str) -> tuple[str, int]:
    """The report with every line that still looks like a secret masked, and how many lines that were.

    The last guard before printing, of every command. Nothing should be left to mask here: each value is masked where
    it is shown. This catches what a new format forgot.
    """
    lines = report.splitlines(keepends=True)
    if not looks_secret("".join(dict.fromkeys(lines))):  # most lines of a large report are alike
        return report, 0
    masked = [mask_secrets(line) if looks_secret(line) else line for line in lines]
    return "".join(masked), sum(line != shown for line, shown in zip(lines, masked, strict=True))
