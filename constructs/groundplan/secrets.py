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
    "Weights & Biases API key": r"\bwandb_v[0-9]_[A-Za-z0-9_]{16,}|(?<![0-9A-Za-z:@/_-])[0-9a-f]{40}(?![0-9A-Za-z_-])",
    "NVIDIA API key": r"\bnvapi-[A-Za-z0-9_-]{16,}",
    "GitHub token": r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}",
    "GitLab token": r"\bglpat-[A-Za-z0-9_-]{16,}",
    "Google API key": r"\bAIza[0-9A-Za-z_-]{30,}",
    "Google OAuth token": r"\bya29\.[0-9A-Za-z_-]{16,}|\b1//0[0-9A-Za-z_-]{30,}",
    "private key": r"-----BEGIN [A-Z ]*PRIVATE KEY",
    "AWS access key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "OpenAI or Anthropic key": r"\bsk-[A-Za-z0-9_-]{20,}",
    "Slack token": r"\bxox[abprs]-[A-Za-z0-9-]{10,}",
    "Terraform Cloud token": r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{30,}",
    "JSON web token": r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.",
    "password in a URL": r"\b[a-z][a-z0-9+.-]*://[^\s/:@]+:[^\s/:@]+@",
}
_COMPILED = {what: re.compile(pattern) for what, pattern in _PATTERNS.items()}
_ANY = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS.values()))

#: Names whose literal value is a secret whatever it looks like: HF_TOKEN, WANDB_API_KEY, password ...
_SECRET_NAME = re.compile(
    r"(?i)(^|[_.-])(token|secret|password|passwd|api_?key|access_?key|private_?key|credentials?)$"
)


def find_secrets(text: str) -> list[tuple[int, int, str]]:
    """Every literal secret in `text`: line and column (from 1) and the kind; never the value."""
    if not _ANY.search(text):
        return []
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        for what, pattern in _COMPILED.items():
            found += [(number, match.start() + 1, what) for match in pattern.finditer(line)]
    return sorted(found)


def looks_secret(value: str) -> bool:
    """Whether `value` holds something that looks like a secret."""
    return bool(_ANY.search(value))


def mask_secrets(text: str) -> str:
    """`text` with everything that looks like a secret replaced by asterisks."""
    return _ANY.sub(MASK, text)


def is_secret_name(name: str) -> bool:
    """Whether an environment variable or key of this name would hold a secret (``HF_TOKEN``, ``WANDB_API_KEY``)."""
    return bool(_SECRET_NAME.search(name))
