"""Plans and differences for people: parse -> changes -> assessment -> report, each step a pure function.

Everything here reads JSON that somebody already made; no cdktf, no Terraform, no network (`diff --revisions` alone
synthesizes). `groundplan.review.assess.assess` is the way in for programs.
"""
