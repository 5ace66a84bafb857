"""Recognising literal secrets, so that none is ever written, stored or echoed.

A profile holds references only. Anything that looks like a token is refused wherever it stands, comments included, and
every text that groundplan prints back from user input goes through :func:`mask_secrets` first.
"""

from __future__ import annotations

import re

#: What a secret is replaced by wherever text is shown.
MASK = "********"

#: Kind of secret -> how it looks. Prefixes are the issuers' own, published for secret scanners.
_PATTERNS: dict[str, str] = {
    "Hugging Face token": r"\bhf_[A-Za-z0-9]{16,}",
    "Hugging Face organisation token": r"\bapi_org_[A-Za-z0-9]{16,}",
    "Weights & Biases API key": r"\bwandb_v[0-9]_[A-Za-z0-9_]{16,}",
    "NVIDIA API key": r"\bnvapi-[A-Za-z0-9_-]{16,}",
    "GitHub token": r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}",
    "GitLab token": r"\bglpat-[A-Za-z0-9_-]{16,}",
    "Google API key": r"\bAIza[0-9A-Za-z_-]{30,}",
    "Google OAuth token": r"\bya29\.[0-9A-Za-z_-]{16,}|\b1//0[0-9A-Za-z_-]{30,}",
    "private key": r"-----BEGIN [A-Z ]*PRIVATE KEY",
    "AWS access key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "OpenAI or Anthropic key": (
        r"\bsk-(?:ant|proj)-[A-Za-z0-9_-]{16,}|\bsk-[0-9a-f]{32,64}\b"
        r"|\bsk-(?=[A-Za-z_-]{0,60}[0-9])(?=[a-z0-9_-]{0,60}[A-Z])[A-Za-z0-9_-]{20,}"
    ),
    "Slack token": r"\bxox[abprs]-[A-Za-z0-9-]{10,}",
    "Terraform Cloud token": r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{30,}",
    "JSON web token": r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.",
    "password in a URL": r"\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@]+:[^\s/:@]+@",
}
_COMPILED = {what: re.compile(pattern) for what, pattern in _PATTERNS.items()}
_ANY = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS.values()))

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


def names_secret(line: str) -> bool:
    """Whether a line of text gives something to a secret's name, which makes it unfit to be shown."""
    return any(is_secret_name(match[1]) for match in _GIVEN.finditer(line))


def is_secret_path(path: tuple[str | int, ...]) -> bool:
    """Whether what stands at this place of a profile is never shown: `secrets` and all that is named like a secret."""
    return path[:1] == ("secrets",) or any(is_secret_name(part) for part in path if isinstance(part, str))
