"""Plans and differences for people: parse -> changes -> assessment -> report, each step a pure function.

Everything here reads JSON that somebody already made; no cdktf, no Terraform, no network. Of resources it knows only
what holds for all. A product registers its rules (:func:`plan_review.judgement.plan_rule`) and its words
(:data:`plan_review.losses.LOSSES`, :class:`plan_review.assess.Supplement`), and brings the facts of its providers.
"""
